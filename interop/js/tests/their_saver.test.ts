// What LangGraph's own saver does on pgweft's tables: it works there without DDL rights; its integer versions lose values in
// forks, which fsck finds and guards stop; deleted threads come back, which guards stop, too.
import { randomUUID } from "node:crypto";
import { uuid6, emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { inject } from "vitest";
import { asOwner, collect, go, logGraph, ourSaver, removeAll, theirSaver, thread } from "./support.js";

const metadata = { source: "loop" as const, step: 0, parents: {} };

afterEach(async () => {
  await asOwner("select langgraph.disable_guards()");
});

/** Runs a graph, then again from the checkpoint before its second node, with another state. Gives the values of the branch. */
async function fork(graph: ReturnType<typeof logGraph>, id: string): Promise<string[]> {
  await graph.invoke({ log: ["hello"] }, thread(id));
  let past;
  for await (const state of graph.getStateHistory(thread(id))) {
    if (state.next[0] === "second") {
      past = state.config;
    }
  }
  const branch = await graph.updateState(past!, { log: ["changed by hand"] }, "first");
  await graph.invoke(null, branch);
  return (await graph.getState(thread(id))).values.log;
}

const original = ["hello", "first after hello", "second after 2"];
const branched = ["hello", "first after hello", "changed by hand", "second after 3"];

const collisions = (id: string) =>
  asOwner("select channel, detail from langgraph.fsck_thread($1) where problem = 'version collision' order by 1, 2", [id]);

describe("without DDL rights", () => {
  it("setup() says that it needs CREATE on the database, and changes nothing once it has it", async () => {
    const catalog = `select count(*)::int as objects, max(oid)::text as newest from pg_class
      where relnamespace in ('langgraph'::regnamespace, 'public'::regnamespace)`;
    const before = await asOwner(catalog);
    await expect(theirSaver().setup()).rejects.toMatchObject({ code: "42501" });
    const { pathname, username } = new URL(inject("clientUrl"));
    const grant = (verb: string) => asOwner(`${verb.replace("%", `create on database ${pathname.slice(1)}`)} ${username}`);
    await grant("grant % to");
    try {
      await theirSaver().setup();
    } finally {
      await grant("revoke % from");
    }
    expect(await asOwner(catalog)).toEqual(before);
  });

  it("a graph runs, and its history reads back", async () => {
    const id = randomUUID();
    const graph = logGraph(theirSaver());
    expect((await graph.invoke({ log: ["hello"] }, thread(id))).log).toEqual(original);
    const lengths = [];
    for await (const state of graph.getStateHistory(thread(id))) {
      lengths.push(state.values.log.length);
    }
    expect(lengths).toEqual([3, 2, 1, 0]);
    expect(await asOwner("select * from langgraph.fsck_thread($1)", [id])).toEqual([]);
  });
});

describe("a thread that Go wrote", () => {
  it("cannot be read, and breaks a list over all threads, but no other thread", async () => {
    const [mine, theirs] = [randomUUID(), randomUUID()];
    await logGraph(theirSaver()).invoke({ log: ["hello"] }, thread(mine));
    await go("begin", theirs);
    const read = (configurable: object) => collect(theirSaver().list({ configurable }));
    await expect(theirSaver().getTuple(thread(theirs))).rejects.toThrow("Unknown serialization type: msgpack");
    await expect(read({})).rejects.toThrow("Unknown serialization type: msgpack");
    expect(await read({ thread_id: mine })).toHaveLength(4);
  });
});

describe("a fork", () => {
  it("loses the branch's values without a word, and fsck names them", async () => {
    const id = randomUUID();
    // The branch reads values that the original branch stored under the same numbers.
    expect(await fork(logGraph(theirSaver()), id)).toEqual(original);
    const found = await collisions(id);
    expect(found.map((finding) => finding.channel)).toContain("log");
    const inLog = found.filter((finding) => finding.channel === "log");
    expect(inLog.length).toBeGreaterThan(0);
    for (const { detail } of inLog) {
      expect(detail).toMatch(/^Version \d+ was made by [-0-9a-f]{36} and by [-0-9a-f]{36}\.$/);
    }
  });

  it("is an error with guards, and the original branch stays as it was", async () => {
    await asOwner("select langgraph.enable_guards()");
    const id = randomUUID();
    const graph = logGraph(theirSaver());
    await expect(fork(graph, id)).rejects.toMatchObject({
      code: "LG003",
      message: expect.stringContaining("channel 'log' already has another value under version"),
      detail: expect.stringContaining(`Thread '${id}'`),
      hint: expect.stringContaining("fork_checkpoint(..., copy_blobs => true)"),
    });
    expect((await graph.getState(thread(id))).values.log).toEqual(original);
    expect(await collisions(id)).toEqual([]);
  });

  it("made by fork_checkpoint goes on with guards, because it counts on from above all versions", async () => {
    await asOwner("select langgraph.enable_guards()");
    const id = randomUUID();
    const graph = logGraph(theirSaver());
    await graph.invoke({ log: ["hello"] }, thread(id));
    let past: string | undefined;
    for await (const state of graph.getStateHistory(thread(id))) {
      past = state.next[0] === "second" ? state.config.configurable!.checkpoint_id : past;
    }
    const [{ branch }] = await asOwner("select langgraph.fork_checkpoint($1, '', $2) as branch", [id, past]);
    const config = await graph.updateState(thread(id, branch), { log: ["changed by hand"] }, "first");
    await graph.invoke(null, config);
    expect((await graph.getState(thread(id))).values.log).toEqual(branched);
    expect(await asOwner("select * from langgraph.fsck_thread($1)", [id])).toEqual([]);
  });

  it("on the saver of our functions is right, with guards and without", async () => {
    for (const guards of ["disable", "enable"]) {
      await asOwner(`select langgraph.${guards}_guards()`);
      const id = randomUUID();
      expect(await fork(logGraph(ourSaver()), id)).toEqual(branched);
      expect(await asOwner("select * from langgraph.fsck_thread($1)", [id])).toEqual([]);
    }
  });
});

describe("with guards", () => {
  it("graphs run as before, a put again included", async () => {
    await asOwner("select langgraph.enable_guards()");
    const id = randomUUID();
    const saver = theirSaver();
    expect((await logGraph(saver).invoke({ log: ["hello"] }, thread(id))).log).toEqual(original);
    const tuple = (await saver.getTuple(thread(id)))!;
    await saver.put(tuple.parentConfig!, tuple.checkpoint, tuple.metadata!, tuple.checkpoint.channel_versions);
    expect((await saver.getTuple(thread(id)))!.checkpoint.channel_values).toEqual(tuple.checkpoint.channel_values);
  });

  it.each([
    ["LangGraph's saver", () => theirSaver()],
    ["the saver of our functions", () => ourSaver()],
  ])("a thread that %s deleted does not come back", async (_, make) => {
    const saver = make();
    const id = randomUUID();
    await asOwner("select langgraph.enable_guards()");
    await logGraph(saver).invoke({ log: ["hello"] }, thread(id));
    await saver.deleteThread(id);
    const refused = { code: "LG005", message: `thread '${id}' was deleted`, hint: expect.stringContaining("thread_id") };
    for (const writer of [theirSaver(), ourSaver()]) {
      const late = { ...emptyCheckpoint(), id: uuid6(1) };
      await expect(writer.put(thread(id), late, metadata, {})).rejects.toMatchObject(refused);
      await expect(writer.putWrites(thread(id, uuid6(1)), [["log", ["late"]]], "task")).rejects.toMatchObject(refused);
      expect(await writer.getTuple(thread(id))).toBeUndefined();
    }
    // A run under way when the thread is deleted ends with the error, too.
    await expect(logGraph(saver).invoke({ log: ["late"] }, thread(id))).rejects.toMatchObject(refused);
    expect(await asOwner("select count(*)::int as rows from langgraph.checkpoints where thread_id = $1", [id])).toEqual([
      { rows: 0 },
    ]);
  });

  it("a deleted thread comes back without them", async () => {
    const id = randomUUID();
    const graph = logGraph(theirSaver());
    await graph.invoke({ log: ["hello"] }, thread(id));
    await theirSaver().deleteThread(id);
    await graph.invoke({ log: ["late"] }, thread(id));
    expect((await graph.getState(thread(id))).values.log[0]).toBe("late");
  });
});

afterAll(removeAll);
