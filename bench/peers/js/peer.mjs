/** LangGraph's own PostgresSaver for JavaScript as a peer of the benchmark: a line of JSON in, a line of JSON out. */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { require } from "./packages.mjs";
import { Database, OPERATIONS, Request } from "./operations.mjs";
import { Payloads, Refused } from "./payloads.mjs";

const { PostgresSaver } = require("@langchain/langgraph-checkpoint-postgres");
const pg = require("pg");

const PACKAGES = ["@langchain/langgraph-checkpoint-postgres", "@langchain/langgraph-checkpoint", "@langchain/core", "pg"];
const MODES = ["async"];

/** A saver on a pool whose connections are open, and stay so when nobody uses them. */
async function openSaver(url, connections) {
  const pool = new pg.Pool({ connectionString: url, max: connections, idleTimeoutMillis: 0 });
  // A connection that breaks while it is idle is an error of the next operation, not of the process.
  pool.on("error", (error) => console.error(error));
  const clients = await Promise.all(Array.from({ length: connections }, () => pool.connect()));
  clients.forEach((client) => client.release());
  return new PostgresSaver(pool);
}

/** Connections together do the steps: one takes every n-th. Latencies are in nanoseconds. */
async function measure(call, saver, steps, connections) {
  const shares = Array.from({ length: connections }, (_, own) => steps.filter((_step, place) => place % connections === own));
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  const done = await Promise.all(shares.map((share) => work(call, saver, share)));
  const wall = Number(process.hrtime.bigint() - start);
  const { user, system } = process.cpuUsage(cpu);
  return {
    nanoseconds: done.flatMap(({ latencies }) => latencies),
    wall,
    cpu: (user + system) * 1000,
    last: done[(steps.length - 1) % connections].result,
  };
}

async function work(call, saver, steps) {
  const latencies = [];
  let result;
  for (const step of steps) {
    const start = process.hrtime.bigint();
    result = await call(saver, step);
    latencies.push(Number(process.hrtime.bigint() - start));
  }
  return { latencies, result };
}

/** Answers requests. Connections stay open from one run to the next. */
class Peer {
  #database;
  #url;
  #savers = new Map();

  async answer(request) {
    switch (request.fields.do) {
      case "hello":
        return this.#hello(request);
      case "fill":
        return this.#fill(request);
      case "run":
        return this.#run(request);
      default:
        throw new Refused(`no such request: ${JSON.stringify(request.fields.do)}; hello, fill, run and quit are known`);
    }
  }

  async #hello(request) {
    if (this.#database !== undefined) {
      throw new Refused("hello was said already");
    }
    this.#url = request.text("database");
    const bodies = new Payloads(request.text("payloads"));
    const saver = await this.#saver(1);
    await saver.setup();
    this.#database = new Database(saver, bodies);
    const versions = Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)]));
    return {
      name: `${PACKAGES[0]} ${versions[PACKAGES[0]]}`,
      runtime: `Node.js ${process.version.slice(1)}`,
      versions,
      operations: Object.keys(OPERATIONS),
      modes: MODES,
    };
  }

  async #fill(request) {
    const database = this.#opened();
    const [thread, checkpoints, payload] = [request.text("thread"), request.number("checkpoints"), request.text("payload")];
    const start = process.hrtime.bigint();
    await database.fill(thread, checkpoints, payload, { delta: Boolean(request.fields.delta) });
    return { nanoseconds: Number(process.hrtime.bigint() - start) };
  }

  async #run(request) {
    const database = this.#opened();
    const name = request.text("operation");
    if (!Object.hasOwn(OPERATIONS, name)) {
      throw new Refused(`operation not offered: ${name}`);
    }
    if (!MODES.includes(request.text("mode"))) {
      throw new Refused(`mode not offered: ${request.text("mode")}; ${MODES.join(", ")} is`);
    }
    const { prepare, call, sample } = OPERATIONS[name];
    const connections = request.number("connections");
    const saver = await this.#saver(connections);
    const steps = await prepare(database, request);
    const { last, ...measured } = await measure(call, saver, steps, connections);
    return { ...measured, sample: await sample(database, request, steps.at(-1), last) };
  }

  #opened() {
    if (this.#database === undefined) {
      throw new Refused("say hello first");
    }
    return this.#database;
  }

  async #saver(connections) {
    if (!this.#savers.has(connections)) {
      this.#savers.set(connections, await openSaver(this.#url, connections));
    }
    return this.#savers.get(connections);
  }

  async close() {
    await Promise.all([...this.#savers.values()].map((saver) => saver.end()));
  }
}

function versionOf(name) {
  // Not every package lets its package.json be required; all of them are installed side by side.
  return JSON.parse(readFileSync(new URL(`../../../interop/js/node_modules/${name}/package.json`, import.meta.url), "utf8")).version;
}

const peer = new Peer();
for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const request = new Request(JSON.parse(line));
    if (request.fields.do === "quit") {
      break;
    }
    answer = { ok: true, ...(await peer.answer(request)) };
  } catch (error) {
    if (!(error instanceof Refused)) {
      console.error(error);
    }
    answer = { ok: false, error: error instanceof Error ? error.message : String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await peer.close();
