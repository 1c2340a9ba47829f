// summary.mjs REPORT: prints `name: N passed, N failed` for each part of vitest's JSON report, and ends with a status other
// than 0 when a test failed, was skipped or did not run.
import { readFileSync } from "node:fs";
import { basename } from "node:path";

const PARTS = {
  "official_theirs.test.ts": "official suite, LangGraph's saver on pgweft's tables",
  "official_ours.test.ts": "official suite, the saver on pgweft's functions",
  "their_saver.test.ts": "graphs on LangGraph's saver, with fsck and guards",
  "our_saver.test.ts": "graphs and values on the saver of pgweft's functions",
  "shared.test.ts": "threads shared by JavaScript, Go and Python",
};

const report = JSON.parse(readFileSync(process.argv[2], "utf8"));
const files = new Map(report.testResults.map((file) => [basename(file.name), file]));
const passedBy = new Map();
let bad = !report.success;
for (const [file, name] of Object.entries(PARTS)) {
  const tests = files.get(file)?.assertionResults ?? [];
  const count = (status) => tests.filter((test) => test.status === status).length;
  const passed = count("passed");
  const failed = count("failed");
  const other = tests.length - passed - failed;
  // A file that cannot be loaded has no tests.
  const broken = tests.length === 0 || files.get(file).status !== "passed";
  bad ||= failed > 0 || other > 0 || broken;
  passedBy.set(file, passed);
  console.log(`${name}: ${passed} passed, ${failed} failed${other > 0 ? `, ${other} did not run` : ""}${broken ? " (broken)" : ""}`);
}
if (passedBy.get("official_theirs.test.ts") !== passedBy.get("official_ours.test.ts")) {
  console.log("the official suite has not the same tests for both savers");
  bad = true;
}
for (const file of files.keys()) {
  if (!(file in PARTS)) {
    console.log(`${file} is in no part: name it in summary.mjs`);
    bad = true;
  }
}
process.exitCode = bad ? 1 : 0;
