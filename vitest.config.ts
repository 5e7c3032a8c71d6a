import { defineConfig } from 'vitest/config'
import { createSummaryReporter } from './test/summary-reporter.ts'

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
          name: 'whole',
          include: ['test/**/*.test.ts'],
          exclude: ['test/contracts/**'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // These tests start processes and measure time and memory: one file at a time, after the unit tests.
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
