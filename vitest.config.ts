import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'
import { createSummaryReporter } from './test/support/summary-reporter.ts'

/**
 * Five projects, because they tolerate different load on the machine. `npm test` runs the first four:
 *
 * - `unit`: tests beside the source, contract suites and the simulation. They use all cores, and run first.
 * - `wire`: tests that start servers on loopback and send requests to them.
 * - `process`: tests that start processes, kill them and wait for leases and timeouts.
 * - `alone`: tests that measure time, or that need all cores. One file runs at a time, after all others.
 * - `slow`: what is long and rare, in files named `x.slow.test.ts` and in the folders of `slowTests`. `npm run test:slow`.
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

/** Tests of `npm run test:slow`: hundreds of kills, other versions of Node, whole frameworks, the site, long fuzzing. */
const slowTests = ['**/*.slow.test.ts', 'test/slow/**/*.test.ts', 'test/frameworks/**/*.test.ts']

/** Another test beside one of these would distort what it measures. */
const aloneTests = [
  // Compares the response times of two calls, which differ by microseconds.
  'test/faults/not-found-timing.test.ts',
  // The server measures its own delay, and is pushed to the limit of its memory.
  'test/faults/overload.test.ts',
  // Compare the rendering times of small and large tasks, and the gaps between frames.
  'test/operator/browser/scale.test.ts',
  'test/operator/browser/chat.test.ts',
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

const sideBySide = 3

/** Lets the adapters find the frameworks that are installed for their tests alone. */
const resolveFrameworks: Plugin = {
  name: 'resolve-frameworks',
  enforce: 'pre',
  async resolveId(id, importer) {
    if (!importer?.includes('/src/integrations/agents/') || id.startsWith('.')) return null
    return await this.resolve(id, fileURLToPath(new URL('test/frameworks/package.json', import.meta.url)))
  },
}

/** Timeouts far above what the tests need: the machine may be busy. */
const unitTimeouts = { testTimeout: 20_000, expect: { poll: { timeout: 15_000 } } }
const serverTimeouts = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 30_000 } } }

export default defineConfig({
  test: {
    reporters: ['default', createSummaryReporter()],
    globalSetup: ['test/support/postgres/global-setup.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', ...unitTests],
          exclude: slowTests,
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
          exclude: slowTests,
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
          exclude: [...unitTests, ...wireTests, ...aloneTests, ...slowTests],
          pool: 'forks',
          ...serverTimeouts,
          env: { ...environment, ...compileCache },
          maxWorkers: sideBySide,
          maxConcurrency: sideBySide,
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
      {
        plugins: [resolveFrameworks],
        test: {
          name: 'slow',
          include: slowTests,
          pool: 'forks',
          testTimeout: 600_000,
          hookTimeout: 600_000,
          expect: { poll: { timeout: 60_000 } },
          maxWorkers: 2,
          env: { ...environment, ...compileCache },
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})
