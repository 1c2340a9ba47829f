/** The driver's payloads as LangChain's objects, and the digests that the driver compares between sides. */
import { readFileSync } from "node:fs";
import { require } from "./packages.mjs";

const { AIMessage, HumanMessage, ToolMessage } = require("@langchain/core/messages");

/** A request that cannot be carried out as it is, which is the driver's mistake and no defect of this side. */
export class Refused extends Error {}

export class Payloads {
  #bodies;

  constructor(path) {
    this.#bodies = Object.fromEntries(
      Object.entries(JSON.parse(readFileSync(path, "utf8"))).map(([name, bodies]) => [
        name,
        bodies.map((body) => mapValues(body.channels, (value) => (Array.isArray(value) ? value.map(message) : value))),
      ]),
    );
  }

  /** The values of the channels of the checkpoint with this number. */
  channels(payload, number) {
    const bodies = this.#bodies[payload];
    if (bodies === undefined) {
      throw new Refused(`no payload "${payload}": payloads.json has ${Object.keys(this.#bodies).join(", ")}`);
    }
    return bodies[number % bodies.length];
  }

  /** The writes of one task: a message each, or a text each, of the first body, again and again. */
  writes(payload, count) {
    const parts = Object.entries(this.channels(payload, 0)).flatMap(([channel, value]) =>
      Array.isArray(value) ? value.map((one) => [channel, [one]]) : [[channel, value]],
    );
    return Array.from({ length: count }, (_, number) => parts[number % parts.length]);
  }
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}

function message({ type, content, id, tool_call_id = id }) {
  switch (type) {
    case "human":
      return new HumanMessage({ content, id });
    case "ai":
      return new AIMessage({ content, id });
    case "tool":
      // A tool's message must name the call that it answers.
      return new ToolMessage({ content, id, tool_call_id });
    default:
      throw new Refused(`messages of type "${type}" are not known: human, ai and tool are`);
  }
}

/** What the values of a checkpoint amount to. Lengths are bytes of UTF-8, as every side can count them. */
export function digest(values) {
  if ("messages" in values) {
    return messagesDigest(values.messages);
  }
  const texts = Object.values(values).filter((value) => typeof value === "string");
  return `channels=${texts.length};bytes=${sum(texts)}`;
}

export function messagesDigest(messages) {
  return `messages=${messages.length};last=${messages.length === 0 ? 0 : length(messages.at(-1).content)}`;
}

export function writesDigest(writes) {
  const texts = writes.map(([, , value]) => (typeof value === "string" ? value : value.at(-1).content));
  return `writes=${texts.length};bytes=${sum(texts)}`;
}

function sum(texts) {
  return texts.reduce((total, text) => total + length(text), 0);
}

function length(text) {
  return Buffer.byteLength(text);
}
