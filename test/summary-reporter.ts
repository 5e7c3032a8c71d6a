import type { Reporter, TestModule } from 'vitest/node'

/** Ends the run with one machine-readable line: `12 passed, 0 failed`. */
export function createSummaryReporter(): Reporter {
  return {
    onTestRunEnd(modules, unhandledErrors) {
      const tests = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state))
      const passed = tests.filter((state) => state === 'passed').length
      const failedTests = tests.filter((state) => state === 'failed').length
      const skipped = tests.length - passed - failedTests
      const failed = failedTests + modules.flatMap(errorsOutsideTests).length + unhandledErrors.length
      console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
    },
  }
}

/** A file that does not load, or a hook that throws, fails the run without failing a test. */
function errorsOutsideTests(module: TestModule) {
  return [module, ...module.children.allSuites()].flatMap((suite) => suite.errors())
}
