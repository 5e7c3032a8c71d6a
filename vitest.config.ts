import { defineConfig } from 'vitest/config'
import { createSummaryReporter } from './test/summary-reporter.ts'

/** What starts servers and speaks to them, but measures neither time nor memory: side by side. */
const spoken = ['interop', 'loop', 'mcp', 'mesh', 'registry', 'schemas', 'wire'].map(
  (room) => `test/${room}/**/*.test.ts`,
)
const patient = { testTimeout: 60_000, hookTimeout: 60_000 }

export default defineConfig({
  test: {
    reporters: ['default', createSummaryReporter()],
    globalSetup: ['test/support/postgres/global-setup.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/contracts/**/*.test.ts'],
          pool: 'forks',
          maxWorkers: '100%',
          // Far more than they take: a machine may be busy with other things.
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'spoken',
          include: spoken,
          pool: 'forks',
          ...patient,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'whole',
          include: ['test/**/*.test.ts'],
          exclude: ['test/contracts/**', ...spoken],
          pool: 'forks',
          ...patient,
          // These tests start processes and measure time and memory: one file at a time, after all others.
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
