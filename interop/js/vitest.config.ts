import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/*.test.ts"],
    // The official suite wants vitest's functions as globals.
    globals: true,
    globalSetup: ["tests/postgres.ts"],
    // One database for all; guards hold for the whole of it.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
