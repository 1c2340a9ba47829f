/** The operations: what they are prepared with before the clock starts, what is called, and the digest of what came of it. */
import { randomUUID } from "node:crypto";
import { require } from "./packages.mjs";
import { Refused, digest, messagesDigest, writesDigest } from "./payloads.mjs";

const { DeltaSnapshot, isDeltaSnapshot, uuid6 } = require("@langchain/langgraph-checkpoint");

const CHANNEL = "messages";

/** A line of the driver; a field that is missing or of the wrong type says so. */
export class Request {
  constructor(fields) {
    this.fields = fields;
  }

  text(name) {
    const value = this.fields[name];
    if (typeof value !== "string" || value === "") {
      throw new Refused(`the request needs ${name}, a text: it has ${JSON.stringify(value)}`);
    }
    return value;
  }

  number(name) {
    const value = this.fields[name];
    if (!Number.isInteger(value) || value < 1) {
      throw new Refused(`the request needs ${name}, a number of 1 or more: it has ${JSON.stringify(value)}`);
    }
    return value;
  }
}

/** What is done beside the clock: filling, and reading back what was written. */
export class Database {
  #threads = new Map();

  constructor(saver, bodies) {
    this.saver = saver;
    this.bodies = bodies;
  }

  async fill(thread, checkpoints, payload, { delta = false } = {}) {
    if (this.#threads.has(thread)) {
      throw new Refused(`thread "${thread}" is filled already`);
    }
    const ids = delta ? await this.#fillWithDeltas(thread, checkpoints, payload) : await this.#fill(thread, checkpoints, payload);
    this.#threads.set(thread, { ids, hasChannel: CHANNEL in this.bodies.channels(payload, 0) });
  }

  async #fill(thread, checkpoints, payload) {
    const steps = this.puts(thread, payload, range(0, checkpoints, 1));
    for (const step of steps) {
      await this.saver.put(...step);
    }
    return steps.map(([, checkpoint]) => checkpoint.id);
  }

  /** The arguments of put for a chain of checkpoints, each with the payload of its number. */
  puts(thread, payload, numbers) {
    let parent;
    let versions = {};
    return numbers.map((number, place) => {
      const values = this.bodies.channels(payload, number);
      versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, this.saver.getNextVersion(versions[channel])]));
      const checkpoint = newCheckpoint(place, values, versions);
      const step = [configOf(thread, parent), checkpoint, metadata(place), versions];
      parent = checkpoint.id;
      return step;
    });
  }

  /** A thread as a channel of deltas leaves it: the first checkpoint has all messages of the payload, and every later step is
   * one message that its task wrote. */
  async #fillWithDeltas(thread, checkpoints, payload) {
    const messages = this.bodies.channels(payload, 0)[CHANNEL];
    const ids = [];
    let version;
    for (const number of range(0, checkpoints, 1)) {
      version = this.saver.getNextVersion(version);
      const values = number === 0 ? { [CHANNEL]: new DeltaSnapshot(messages) } : {};
      const checkpoint = newCheckpoint(number, values, { [CHANNEL]: version });
      const config = await this.saver.put(configOf(thread, ids.at(-1)), checkpoint, metadata(number), { [CHANNEL]: version });
      await this.saver.putWrites(config, [[CHANNEL, [messages[number % messages.length]]]], randomUUID());
      ids.push(checkpoint.id);
    }
    return ids;
  }

  filled(thread) {
    const filled = this.#threads.get(thread);
    if (filled === undefined) {
      throw new Refused(`thread "${thread}" is not filled: send fill first`);
    }
    return filled;
  }

  forget(thread) {
    this.#threads.delete(thread);
  }

  async read(thread, checkpointId) {
    const found = await this.saver.getTuple(configOf(thread, checkpointId));
    if (found === undefined) {
      throw new Error(`thread "${thread}" has no checkpoint ${checkpointId ?? "at all"}`);
    }
    return found;
  }
}

function configOf(thread, checkpointId) {
  const configurable = { thread_id: thread, checkpoint_ns: "" };
  return { configurable: checkpointId === undefined ? configurable : { ...configurable, checkpoint_id: checkpointId } };
}

function newCheckpoint(step, values, versions) {
  return {
    v: 4,
    ts: new Date().toISOString(),
    id: uuid6(step),
    channel_values: { ...values },
    channel_versions: { ...versions },
    versions_seen: { __input__: {}, node: { ...versions } },
  };
}

function metadata(step) {
  return { source: "loop", step, parents: {} };
}

function fresh(name) {
  return `${name}-${randomUUID().replaceAll("-", "")}`;
}

function range(start, end, step) {
  return Array.from({ length: Math.max(0, Math.ceil((end - start) / step)) }, (_, place) => start + place * step);
}

function repeat(step, request) {
  return Array.from({ length: request.number("count") }, () => step);
}

function preparePut(database, request) {
  const [connections, count] = [request.number("connections"), request.number("count")];
  const steps = new Array(count);
  for (const connection of range(0, connections, 1)) {
    const share = range(connection, count, connections);
    database.puts(fresh("put"), request.text("payload"), share).forEach((step, place) => {
      steps[share[place]] = step;
    });
  }
  return steps;
}

async function samplePut(database, _request, [config, checkpoint]) {
  const found = await database.read(config.configurable.thread_id);
  if (found.checkpoint.id !== checkpoint.id) {
    throw new Error(`checkpoint ${checkpoint.id} is not its thread's newest after put`);
  }
  return digest(found.checkpoint.channel_values);
}

async function preparePutWrites(database, request) {
  const [connections, payload] = [request.number("connections"), request.text("payload")];
  const configs = [];
  // On threads of their own: pending writes are part of what get reads.
  for (const _ of range(0, connections, 1)) {
    configs.push(await database.saver.put(...database.puts(fresh("writes"), payload, [0])[0]));
  }
  const writes = database.bodies.writes(payload, request.number("writes"));
  return range(0, request.number("count"), 1).map((number) => [configs[number % connections], writes, randomUUID()]);
}

async function samplePutWrites(database, _request, [config, , task]) {
  const { thread_id, checkpoint_id } = config.configurable;
  const found = await database.read(thread_id, checkpoint_id);
  return writesDigest((found.pendingWrites ?? []).filter((write) => write[0] === task));
}

function prepareGet(database, request) {
  const thread = request.text("thread");
  database.filled(thread);
  return repeat([configOf(thread)], request);
}

function prepareGetById(database, request) {
  const thread = request.text("thread");
  const { ids } = database.filled(thread);
  return repeat([configOf(thread, ids[Math.floor(ids.length / 2)])], request);
}

function sampleGet(_database, request, _step, found) {
  if (found === undefined) {
    throw new Error(`nothing was read of thread "${request.text("thread")}"`);
  }
  return digest(found.checkpoint.channel_values);
}

function prepareList(database, request) {
  const limit = request.number("limit");
  return prepareGet(database, request).map(([config]) => [config, { limit }]);
}

async function list(saver, step) {
  const found = [];
  for await (const tuple of saver.list(...step)) {
    found.push(tuple);
  }
  return found;
}

function sampleList(_database, _request, _step, found) {
  return `${found.length}:${digest(found[0].checkpoint.channel_values)}`;
}

function prepareDeltaHistory(database, request) {
  const thread = request.text("thread");
  if (!database.filled(thread).hasChannel) {
    throw new Refused(`thread "${thread}" has no channel "${CHANNEL}": fill it with a payload of messages`);
  }
  return repeat([{ config: configOf(thread), channels: [CHANNEL] }], request);
}

function sampleDeltaHistory(_database, _request, _step, found) {
  const { writes, seed = [] } = found[CHANNEL];
  const messages = [...(isDeltaSnapshot(seed) ? seed.value : seed), ...writes.flatMap(([, , written]) => written)];
  return `${writes.length}:${messagesDigest(messages)}`;
}

async function prepareDelete(database, request) {
  const threads = range(0, request.number("count"), 1).map(() => fresh("delete"));
  for (const thread of threads) {
    await database.fill(thread, request.number("checkpoints"), request.text("payload"));
    database.forget(thread);
  }
  return threads.map((thread) => [thread]);
}

async function sampleDelete(database, _request, [thread]) {
  const left = await list(database.saver, [configOf(thread)]);
  if (left.length > 0) {
    throw new Error(`thread "${thread}" has ${left.length} checkpoints after delete_thread`);
  }
  return "checkpoints=0";
}

/** prepare makes the arguments of each of the calls; sample digests the last one's answer, and reads back what was written. */
export const OPERATIONS = {
  put: { prepare: preparePut, call: (saver, step) => saver.put(...step), sample: samplePut },
  put_writes: { prepare: preparePutWrites, call: (saver, step) => saver.putWrites(...step), sample: samplePutWrites },
  get: { prepare: prepareGet, call: (saver, step) => saver.getTuple(...step), sample: sampleGet },
  get_by_id: { prepare: prepareGetById, call: (saver, step) => saver.getTuple(...step), sample: sampleGet },
  list: { prepare: prepareList, call: list, sample: sampleList },
  // PostgresSaver has none of its own: this is the walk of its base class, a getTuple for each ancestor.
  delta_history: {
    prepare: prepareDeltaHistory,
    call: (saver, step) => saver.getDeltaChannelHistory(...step),
    sample: sampleDeltaHistory,
  },
  delete_thread: { prepare: prepareDelete, call: (saver, step) => saver.deleteThread(...step), sample: sampleDelete },
};
