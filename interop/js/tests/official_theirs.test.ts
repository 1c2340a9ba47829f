// The official suite on LangGraph's own saver, unmodified, on pgweft's tables, under a role without DDL rights.
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import type { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { removeAll, theirSaver } from "./support.js";

let saver: PostgresSaver;
const initializer = {
  checkpointerName: "@langchain/langgraph-checkpoint-postgres",
  beforeAll: () => {
    saver = theirSaver();
  },
  createCheckpointer: () => saver,
  // Each group of tests expects to find nothing.
  destroyCheckpointer: removeAll,
};
validate(initializer);
deltaChannelHistoryTests(initializer);
