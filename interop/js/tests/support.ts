import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  END,
  MessagesAnnotation,
  START,
  StateGraph,
  interrupt,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { afterAll, inject } from "vitest";
import { PgweftSaver } from "../src/pgweft_saver.js";

const run = promisify(execFile);
const pools: pg.Pool[] = [];

afterAll(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
});

export function pool(url: string): pg.Pool {
  const made = new pg.Pool({ connectionString: url });
  pools.push(made);
  return made;
}

/** Runs statements as the owner of the schema. */
export async function asOwner(sql: string, parameters: unknown[] = []): Promise<any[]> {
  const owner = new pg.Client(inject("ownerUrl"));
  await owner.connect();
  try {
    return (await owner.query(sql, parameters)).rows;
  } finally {
    await owner.end();
  }
}

/** Removes what the savers hold. */
export async function removeAll(): Promise<void> {
  await asOwner("truncate langgraph.checkpoints, langgraph.checkpoint_blobs, langgraph.checkpoint_writes");
}

/** LangGraph's own saver on pgweft's tables, under the role without DDL rights, without setup(). */
export const theirSaver = (): PostgresSaver =>
  new PostgresSaver(pool(inject("clientUrl")), undefined, { schema: "langgraph" });

export const ourSaver = (): PgweftSaver => new PgweftSaver(pool(inject("clientUrl")));

/** A state with a list that grows, for forks. */
const Log = Annotation.Root({
  log: Annotation<string[]>({ reducer: (held, added) => held.concat(added), default: () => [] }),
});

/** Two nodes in a row, each of which writes its name and what came in. */
export const logGraph = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(Log)
    .addNode("first", (state) => ({ log: [`first after ${state.log.at(-1)}`] }))
    .addNode("second", (state) => ({ log: [`second after ${state.log.length}`] }))
    .addEdge(START, "first")
    .addEdge("first", "second")
    .addEdge("second", END)
    .compile({ checkpointer });

/** The conversation that Python has, too: see pyside.py. "ask me" waits for a human. */
export const chatGraph = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(MessagesAnnotation)
    .addNode("agent", (state) => {
      const asked = state.messages.at(-1)!.text === "ask me";
      const said = asked ? `hello ${interrupt("who are you?")}, from JavaScript` : "from JavaScript";
      return { messages: [new AIMessage({ content: said, id: `js-${state.messages.length}` })] };
    })
    .addEdge(START, "agent")
    .addEdge("agent", END)
    .compile({ checkpointer });

export const thread = (thread_id: string, checkpoint_id?: string) => ({ configurable: { thread_id, checkpoint_id } });

export const human = (content: string, id: string) => ({ messages: [new HumanMessage({ content, id })] });

/** All that a generator yields. */
export async function collect<T>(generator: AsyncIterable<T>): Promise<T[]> {
  const all = [];
  for await (const item of generator) {
    all.push(item);
  }
  return all;
}

/** Messages as Go's and Python's side print them: what a user sees of each. */
export interface Said {
  type: string;
  content: unknown;
  id: string;
  tool_calls?: unknown;
}

export const said = (messages: BaseMessage[]): Said[] =>
  messages.map((m) => ({
    type: m.getType(),
    content: m.content,
    id: m.id!,
    ...((m as AIMessage).tool_calls?.length ? { tool_calls: (m as AIMessage).tool_calls } : {}),
  }));

export interface State {
  messages: Said[];
  next: string[];
  interrupts: unknown[];
}

/** Runs the Go side; what it prints is a state. */
export async function go(command: "begin" | "continue", thread: string): Promise<void>;
export async function go(command: "read", thread: string): Promise<State>;
export async function go(command: string, thread: string): Promise<State | void> {
  const { stdout } = await run(process.env.PGWEFT_GOSIDE!, [command, inject("ownerUrl"), thread]);
  if (command === "read") {
    const { values, next, interrupts } = JSON.parse(stdout);
    return { messages: visible(values.messages), next: next ?? [], interrupts: interrupts ?? [] };
  }
}

/** Runs the Python side, which uses LangGraph's own PostgresSaver, and gives the state that it ends with. */
export async function python(command: "run" | "resume" | "read" | "fork", ...args: string[]): Promise<State> {
  const { stdout } = await run(process.env.PGWEFT_PYTHON!, ["pyside.py", command, inject("clientUrl"), ...args]);
  const { messages, next, interrupts } = JSON.parse(stdout);
  return { messages: visible(messages), next, interrupts };
}

/** Values as Python's serializer writes them, data in hexadecimal. */
export async function pythonValues(): Promise<{ repr: string; type: string; data: string }[]> {
  return JSON.parse((await run(process.env.PGWEFT_PYTHON!, ["pyside.py", "values"])).stdout);
}

function visible(messages: any[]): Said[] {
  return messages.map(({ type, content, id, tool_calls }) => ({
    type,
    content,
    id,
    ...(tool_calls?.length ? { tool_calls } : {}),
  }));
}
