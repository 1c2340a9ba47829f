/** Finds or starts a Postgres as the Go tests do, before all tests, and makes the role that clients log in as. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import pg from "pg";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** As the owner of the schema. */
    ownerUrl: string;
    /** As a client that may read and write the tables and call the functions, and has no DDL rights. */
    clientUrl: string;
  }
}

const CLIENT = "pgweft_interop_js";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = spawn(process.env.PGWEFT_GOSIDE!, ["postgres"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(postgres, "exit");
  const lines = createInterface(postgres.stdout)[Symbol.asyncIterator]();
  const greeting = await lines.next();
  if (greeting.done) {
    throw new Error(`no Postgres: goside ended with status ${(await ended)[0]}`);
  }
  const { url, backend, version } = JSON.parse(greeting.value);
  console.log(`PostgreSQL ${Math.floor(version / 10_000)} (${backend}), node ${process.version}`);
  const clientUrl = await makeClient(url);
  project.provide("ownerUrl", url);
  project.provide("clientUrl", clientUrl);
  return async () => {
    const owner = new pg.Client(url);
    await owner.connect();
    await owner.query(`drop owned by ${CLIENT}; drop role ${CLIENT}`);
    await owner.end();
    postgres.stdin.end();
    const [status] = await ended;
    if (status !== 0) {
      throw new Error(`goside ended with status ${status}`);
    }
  };
}

async function makeClient(url: string): Promise<string> {
  const owner = new pg.Client(url);
  await owner.connect();
  await owner.query(`
    create role ${CLIENT} login password '${CLIENT}';
    grant usage on schema langgraph to ${CLIENT};
    grant select on langgraph.checkpoint_migrations to ${CLIENT};
    grant select, insert, update, delete on langgraph.checkpoints, langgraph.checkpoint_blobs, langgraph.checkpoint_writes,
      langgraph.checkpoint_pins, langgraph.thread_ttls to ${CLIENT};
    grant execute on all functions in schema langgraph to ${CLIENT}`);
  await owner.end();
  const client = new URL(url);
  client.username = CLIENT;
  client.password = CLIENT;
  return client.href;
}
