import type { Reporter, TestModule } from 'vitest/node'

/**
 * Ends the run with one machine-readable line: `12 passed, 0 failed`. Before it, names the tests that passed only when they
 * were repeated.
 */
export function createSummaryReporter(): Reporter {
  return {
    onTestRunEnd(modules, unhandledErrors) {
      const all = modules.flatMap((module) => [...module.children.allTests()])
      for (const test of all.filter((test) => test.diagnostic()?.flaky)) {
        console.log(`Unstable, passed when repeated: ${test.module.relativeModuleId} > ${test.fullName}`)
      }
      const tests = all.map((test) => test.result().state)
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
