// The saver that calls pgweft's functions: graphs, and what becomes of values.
import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  DeltaChannel,
  END,
  MemorySaver,
  START,
  Send,
  StateGraph,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";
import { DeltaSnapshot, uuid6 } from "@langchain/langgraph-checkpoint";
import { PythonObject, SharedSerializer } from "../src/msgpack.js";
import { asOwner, chatGraph, collect, human, ourSaver, pythonValues, thread } from "./support.js";

const serde = new SharedSerializer(new MemorySaver().serde);

async function roundTrip(value: unknown): Promise<unknown> {
  const [type, data] = await serde.dumpsTyped(value);
  return serde.loadsTyped(type, data);
}

const hex = (data: Uint8Array) => Buffer.from(data).toString("hex");

describe("values", () => {
  it.each([
    ["null", null, "null"],
    ["undefined", undefined, "json"],
    ["bytes", new Uint8Array([0, 255]), "bytes"],
    ["text", "Grüße ☀ \0", "msgpack"],
    ["numbers", [0, -1, 1.5, 4294967295, 4294967296, -4294967297, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER], "msgpack"],
    ["not numbers", [NaN, Infinity, -Infinity, -0.5], "msgpack"],
    ["large integers", [2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n - 1n], "msgpack"],
    ["a deep value", { a: [{ b: [null, true, { c: new Uint8Array([1]) }] }] }, "msgpack"],
    ["a set", new Set([1, "a"]), "msgpack"],
    ["a map", new Map([["a", 1]]), "json"],
    ["an expression", /a+/gi, "json"],
    ["a snapshot", new DeltaSnapshot([1, { a: 2 }]), "msgpack"],
    ["messages in a list", [new HumanMessage({ content: "hi", id: "1" }), new RemoveMessage({ id: "1" })], "msgpack"],
  ])("%s", async (_, value, type) => {
    expect((await serde.dumpsTyped(value))[0]).toBe(type);
    expect(await roundTrip(value)).toEqual(value);
  });

  it("a date becomes text, as LangGraph's serializer has it", async () => {
    expect(await roundTrip({ at: new Date(0) })).toEqual({ at: "1970-01-01T00:00:00.000Z" });
    const json = new MemorySaver().serde;
    expect(await json.loadsTyped(...(await json.dumpsTyped({ at: new Date(0) })))).toEqual({ at: "1970-01-01T00:00:00.000Z" });
  });

  it("an error keeps its message", async () => {
    expect(await roundTrip(new Error("no"))).toMatchObject({ message: "no" });
  });

  it("every message keeps its class and fields", async () => {
    const messages = [
      new SystemMessage({ content: "be brief", id: "0" }),
      new HumanMessage({ content: [{ type: "text", text: "hi" }], id: "1", name: "Ada", additional_kwargs: { a: 1 } }),
      new AIMessage({
        content: "",
        id: "2",
        tool_calls: [{ id: "c", name: "search", args: { q: "x", n: 3 }, type: "tool_call" }],
        usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
        response_metadata: { model: "m" },
      }),
      new ToolMessage({ content: "found", id: "3", tool_call_id: "c", status: "error", artifact: { rows: [1] } }),
    ];
    const loaded = (await roundTrip(messages)) as typeof messages;
    expect(loaded.map((m) => m.constructor)).toEqual(messages.map((m) => m.constructor));
    expect(loaded).toEqual(messages);
  });

  it("packets stay packets", async () => {
    const loaded = (await roundTrip([new Send("node", { a: 1 })])) as Send[];
    expect(loaded[0]).toMatchObject({ lg_name: "Send", node: "node", args: { a: 1 } });
  });

  it("what Python wrote comes back byte by byte, wherever it stands", async () => {
    const written = await pythonValues();
    expect(written.length).toBeGreaterThan(20);
    for (const { repr, type, data } of written) {
      const [typeAgain, dataAgain] = await serde.dumpsTyped(await serde.loadsTyped(type, Buffer.from(data, "hex")));
      expect([repr, typeAgain, hex(dataAgain)]).toEqual([repr, type, data]);
    }
  });

  it("what only Python has can be looked at", async () => {
    const [{ type, data }] = (await pythonValues()).filter(({ repr }) => repr === "{'price': Decimal('1.50')}");
    const loaded = (await serde.loadsTyped(type, Buffer.from(data, "hex"))) as { price: PythonObject };
    expect(loaded.price.parts).toEqual(["decimal", "Decimal", "1.50"]);
    expect(JSON.stringify(loaded)).toBe('{"price":{"lc_type":"decimal.Decimal","args":"1.50"}}');
  });

  it("what cannot be kept is refused", async () => {
    await expect(serde.dumpsTyped({ a: () => 1 })).rejects.toThrow("a function cannot be saved");
    await expect(serde.dumpsTyped(2n ** 64n)).rejects.toThrow("does not fit into 64 bits");
    await expect(serde.loadsTyped("msgpack", new Uint8Array([0x81, 1, 2]))).rejects.toThrow("no text");
    await expect(serde.loadsTyped("pickle", new Uint8Array())).rejects.toThrow("pickle");
    await expect(serde.loadsTyped("msgpack+aes", new Uint8Array())).rejects.toThrow("encrypted");
  });
});

describe("versions", () => {
  it("count as next_channel_version does", async () => {
    const saver = ourSaver();
    const first = saver.getNextVersion(undefined);
    const second = saver.getNextVersion(first);
    expect(first).toMatch(/^0{31}1\.0\.\d+/);
    expect(second).toMatch(/^0{31}2\.0\.\d+/);
    const [{ third }] = await asOwner("select langgraph.next_channel_version($1) as third", [second]);
    expect(third).toMatch(/^0{31}3\.0\.\d+/);
    expect([third, second, first].sort()).toEqual([first, second, third]);
    expect(saver.getNextVersion(7)).toBe(8);
  });
});

/**
 * A graph of all that a runtime asks of a saver: packets, a delta channel, a node that waits. One task a step writes to the
 * delta channel, because LangGraph's JavaScript replays several by their random ids (langgraphjs issue 2737).
 */
function richGraph(checkpointer: BaseCheckpointSaver) {
  const State = Annotation.Root({
    tasks: Annotation<string[]>({ reducer: (held, added) => held.concat(added), default: () => [] }),
    log: new DeltaChannel<string[], string[]>((held: string[], added: string[][]) => held.concat(...added), { snapshotFrequency: 3 }) as any,
    total: Annotation<number>({ reducer: (held, added) => held + added, default: () => 0 }),
  });
  return new StateGraph(State)
    .addNode(
      "plan",
      () => new Command({ update: { log: ["plan"] }, goto: ["a", "b", "c"].map((name) => new Send("work", { name })) }),
      { ends: ["work"] },
    )
    .addNode("work", ({ name }: any) => ({ tasks: [name], total: 1 }))
    .addNode("report", (state) => ({ log: [`report ${state.total}`] }))
    .addEdge(START, "plan")
    .addEdge("work", "report")
    .addEdge("report", END)
    .compile({ checkpointer, interruptBefore: ["report"] });
}

describe("graphs", () => {
  it("do as on LangGraph's MemorySaver: packets, delta channels, waiting, several turns", async () => {
    const seen = [];
    for (const saver of [new MemorySaver(), ourSaver()]) {
      const graph = richGraph(saver as BaseCheckpointSaver);
      const id = randomUUID();
      const values = [];
      for (let turn = 0; turn < 4; turn += 1) {
        await graph.invoke({ log: [`turn ${turn}`] }, thread(id));
        values.push((await graph.getState(thread(id))).next);
        values.push(await graph.invoke(null, thread(id)));
      }
      const history = [];
      for await (const state of graph.getStateHistory(thread(id))) {
        history.push([state.values, state.next, state.metadata?.source, state.metadata?.step]);
      }
      seen.push({ values, history });
    }
    expect(seen[1]).toEqual(seen[0]);
    expect((seen[1].values[1] as any).tasks).toEqual(["a", "b", "c"]);
  });

  it("wait for a human and go on", async () => {
    const graph = chatGraph(ourSaver());
    const id = randomUUID();
    await graph.invoke(human("ask me", "h1"), thread(id));
    const [task] = (await graph.getState(thread(id))).tasks;
    expect(task.interrupts.map((i) => i.value)).toEqual(["who are you?"]);
    const { messages } = await graph.invoke(new Command({ resume: "Ada" }), thread(id));
    expect(messages.at(-1)!.text).toBe("hello Ada, from JavaScript");
  });

  it("have their checkpoints listed by metadata, place and number", async () => {
    const saver = ourSaver();
    const id = randomUUID();
    await chatGraph(saver).invoke(human("hi", "h1"), thread(id));
    const steps = async (options: object) =>
      (await collect(saver.list(thread(id), options))).map((tuple) => tuple.metadata!.step);
    expect(await steps({})).toEqual([1, 0, -1]);
    expect(await steps({ filter: { source: "loop" }, limit: 1 })).toEqual([1]);
    const newest = await saver.getTuple(thread(id));
    expect(await steps({ before: newest!.config })).toEqual([0, -1]);
    expect(await steps({ before: thread(id, uuid6(0)) })).toEqual([1, 0, -1]);
  });
});
