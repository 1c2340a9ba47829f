// Threads that pass between JavaScript on the saver of our functions, the Go saver, and Python on LangGraph's own saver.
import { randomUUID } from "node:crypto";
import { Command } from "@langchain/langgraph";
import { asOwner, chatGraph, go, human, ourSaver, python, said, thread, type Said } from "./support.js";

const graph = () => chatGraph(ourSaver());

async function javascript(id: string): Promise<Said[]> {
  return said((await graph().getState(thread(id))).values.messages);
}

/** Everyone sees the same messages, and fsck sees nothing. */
async function expectAllToSee(id: string, messages: Said[]): Promise<void> {
  const [inJavaScript, inGo, inPython, findings] = await Promise.all([
    javascript(id),
    go("read", id),
    python("read", id),
    asOwner("select * from langgraph.fsck($1, true)", [id]),
  ]);
  expect(inJavaScript).toEqual(messages);
  expect(inGo.messages).toEqual(messages);
  expect(inPython.messages).toEqual(messages);
  expect(findings).toEqual([]);
}

const byGo: Said[] = [
  { type: "system", content: "Be brief.", id: "m0" },
  { type: "human", content: "How is the weather?", id: "m1" },
  {
    type: "ai",
    content: "",
    id: "m2",
    tool_calls: [{ name: "search", args: { query: "Wetter", limit: 3 }, id: "call-1", type: "tool_call" }],
  },
  { type: "tool", content: "sunny ☀", id: "m3" },
];

describe("a thread", () => {
  it("that Go began, with tool calls, goes on in JavaScript, in Go, in Python and in JavaScript again", async () => {
    const id = randomUUID();
    await go("begin", id);
    expect(await javascript(id)).toEqual(byGo);

    await graph().invoke(human("and tomorrow?", "h1"), thread(id));
    const messages: Said[] = [
      ...byGo,
      { type: "human", content: "and tomorrow?", id: "h1" },
      { type: "ai", content: "from JavaScript", id: "js-5" },
    ];
    await expectAllToSee(id, messages);

    await go("continue", id);
    messages.push({ type: "ai", content: "from Go", id: `go-${id}` });
    await expectAllToSee(id, messages);

    await python("run", id, "and on Sunday?", "h2");
    messages.push({ type: "human", content: "and on Sunday?", id: "h2" }, { type: "ai", content: "from Python", id: "py-8" });
    await expectAllToSee(id, messages);

    await graph().invoke(human("thanks", "h3"), thread(id));
    messages.push({ type: "human", content: "thanks", id: "h3" }, { type: "ai", content: "from JavaScript", id: "js-10" });
    await expectAllToSee(id, messages);
  });

  it("that JavaScript began goes on in Python", async () => {
    const id = randomUUID();
    await graph().invoke(human("hi", "h1"), thread(id));
    await python("run", id, "hi again", "h2");
    await expectAllToSee(id, [
      { type: "human", content: "hi", id: "h1" },
      { type: "ai", content: "from JavaScript", id: "js-1" },
      { type: "human", content: "hi again", id: "h2" },
      { type: "ai", content: "from Python", id: "py-3" },
    ]);
  });

  it("that SQL began, with values in JSON, is read by all and goes on", async () => {
    const id = randomUUID();
    const message = (name: string, kwargs: object) => ({ lc: 1, type: "constructor", id: ["langchain_core", "messages", name], kwargs });
    await asOwner(
      `select langgraph.put_checkpoint($1, '', c.id, null,
        jsonb_build_object('v', 4, 'id', c.id, 'ts', now(), 'channel_values', '{}'::jsonb, 'channel_versions', jsonb_build_object('messages', c.version),
          'versions_seen', '{}'::jsonb),
        '{"source": "input", "step": -1, "parents": {}}', array['messages'], array[c.version], array['json'], array[convert_to($2, 'UTF8')])
      from (select langgraph.new_checkpoint_id(-1) as id, langgraph.next_channel_version(null) as version) c`,
      [id, JSON.stringify([message("HumanMessage", { content: "你好", id: "h1" }), message("AIMessage", { content: "您好", id: "a1" })])],
    );
    const messages: Said[] = [
      { type: "human", content: "你好", id: "h1" },
      { type: "ai", content: "您好", id: "a1" },
    ];
    await expectAllToSee(id, messages);
    await graph().invoke(human("and now?", "h2"), thread(id));
    await expectAllToSee(id, [
      ...messages,
      { type: "human", content: "and now?", id: "h2" },
      { type: "ai", content: "from JavaScript", id: "js-3" },
    ]);
  });

  it("keeps what a message has that its class in JavaScript lacks", async () => {
    const id = randomUUID();
    await python("run", id, "hi", "h1");
    const usage = `select langgraph.value_to_jsonb(b.type, b.blob) as value from langgraph.checkpoint_blobs b
      where b.thread_id = $1 and b.channel = 'messages' order by b.version desc limit 1`;
    const [before] = await asOwner(usage, [id]);
    await graph().invoke(human("hi again", "h2"), thread(id));
    const [after] = await asOwner(usage, [id]);
    expect(after.value.slice(0, 2)).toEqual(before.value);
  });
});

describe("a fork", () => {
  it("in JavaScript of what Python wrote leaves Python's branch as it is, and the other way round", async () => {
    const id = randomUUID();
    await python("run", id, "one", "h1");
    await python("run", id, "two", "h2");
    const turns = new Map<number, string>();
    for await (const state of graph().getStateHistory(thread(id))) {
      if (state.next.length === 0) {
        turns.set(state.values.messages.length, state.config.configurable!.checkpoint_id);
      }
    }
    const first: Said[] = [
      { type: "human", content: "one", id: "h1" },
      { type: "ai", content: "from Python", id: "py-1" },
    ];
    await graph().invoke(human("instead", "h3"), thread(id, turns.get(2)));
    await expectAllToSee(id, [
      ...first,
      { type: "human", content: "instead", id: "h3" },
      { type: "ai", content: "from JavaScript", id: "js-3" },
    ]);
    // Python's branch, read by its own checkpoint.
    const old = await graph().getState(thread(id, turns.get(4)));
    expect(said(old.values.messages)).toEqual([
      ...first,
      { type: "human", content: "two", id: "h2" },
      { type: "ai", content: "from Python", id: "py-3" },
    ]);

    await python("fork", id, turns.get(2)!, "or so", "h4");
    await expectAllToSee(id, [
      ...first,
      { type: "human", content: "or so", id: "h4" },
      { type: "ai", content: "from Python", id: "py-3" },
    ]);
  });
});

describe("a question to a human", () => {
  const answered = (by: string, id: string): Said[] => [
    { type: "human", content: "ask me", id: "h1" },
    { type: "ai", content: `hello Ada, from ${by}`, id },
  ];

  it("that Python asked is answered in JavaScript", async () => {
    const id = randomUUID();
    const asked = await python("run", id, "ask me", "h1");
    expect(asked.next).toEqual(["agent"]);
    const state = await graph().getState(thread(id));
    expect(state.next).toEqual(["agent"]);
    await graph().invoke(new Command({ resume: "Ada" }), thread(id));
    await expectAllToSee(id, answered("JavaScript", "js-1"));
  });

  it("that JavaScript asked is seen by Go and answered in Python", async () => {
    const id = randomUUID();
    await graph().invoke(human("ask me", "h1"), thread(id));
    const seen = await go("read", id);
    expect(seen.next).toEqual(["agent"]);
    await python("resume", id, "Ada");
    await expectAllToSee(id, answered("Python", "py-1"));
  });
});
