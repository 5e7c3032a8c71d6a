import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { createSummaryReporter } from './test/support/summary-reporter.ts'

/**
 * Four projects, because they tolerate different load on the machine:
 *
 * - `unit`: tests beside the source, contract suites and the simulation. They use all cores, and run first.
 * - `wire`: tests that start servers on loopback and send requests to them.
 * - `process`: tests that start processes, kill them and wait for leases and timeouts.
 * - `alone`: tests that measure time, or that need all cores. One file runs at a time, after all others.
 *
 * Files of `wire` and `process` wait for processes and timers for a part of their time, so three of them share two cores.
 */
const unitTests = ['test/contracts/**/*.test.ts', 'test/simulation/**/*.test.ts']
const wireTests = [
  ...['cli', 'conformance', 'interop', 'loop', 'mesh', 'registry', 'schemas', 'wire'].map(
    (folder) => `test/${folder}/**/*.test.ts`,
  ),
  'test/operator/*.test.ts',
]

/** Another test beside one of these would distort what it measures. */
const aloneTests = [
  // Compares the response times of two calls, which differ by microseconds.
  'test/faults/not-found-timing.test.ts',
  // The server measures its own delay, and is pushed to the limit of its memory.
  'test/faults/overload.test.ts',
  // Compare the rendering times of small and large tasks, and the gaps between frames.
  'test/operator/browser/scale.test.ts',
  'test/operator/browser/chat.test.ts',
  // Runs Vitest on older Nodes, which uses all cores.
  'test/runtimes/old-nodes.test.ts',
]

/** Processes that the tests start load the sources from this cache, in half the time. */
const compileCache = { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compile', import.meta.url)) }

/** The environment of the machine must not configure the servers of the tests, and their logs would flood the output. */
const environment = {
  PORT: '',
  HOST: '',
  PARLEY_LOG_LEVEL: 'warn',
  PARLEY_DIRECTORY: '',
  PARLEY_DATABASE_URL: '',
  PARLEY_PUBLIC_URL: '',
}

/** A test that fails is repeated once. The summary names each test that needed it, because such a test has a defect. */
const retry = 1

const sideBySide = 3

/** Timeouts far above what the tests need: the machine may be busy. */
const unitTimeouts = { testTimeout: 20_000, retry }
const serverTimeouts = { testTimeout: 60_000, hookTimeout: 60_000, retry }

export default defineConfig({
  test: {
    reporters: ['default', createSummaryReporter()],
    globalSetup: ['test/support/postgres/global-setup.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', ...unitTests],
          pool: 'forks',
          maxWorkers: '100%',
          ...unitTimeouts,
          env: environment,
        },
      },
      {
        resolve: { alias: { uuid: fileURLToPath(new URL('test/loop/express-sample/uuid.ts', import.meta.url)) } },
        test: {
          name: 'wire',
          include: wireTests,
          pool: 'forks',
          ...serverTimeouts,
          env: { ...environment, ...compileCache },
          maxWorkers: sideBySide,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'process',
          include: ['test/**/*.test.ts'],
          exclude: [...unitTests, ...wireTests, ...aloneTests],
          pool: 'forks',
          ...serverTimeouts,
          env: { ...environment, ...compileCache },
          maxWorkers: sideBySide,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'alone',
          include: aloneTests,
          pool: 'forks',
          ...serverTimeouts,
          fileParallelism: false,
          env: { ...environment, ...compileCache },
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
