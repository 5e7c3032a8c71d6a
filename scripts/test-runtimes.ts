import { oldNodes, runSuiteOn } from '../test/support/programs/suite-on-node.ts'

/** Runs all unit and wire tests on the lowest supported versions of Node. Further arguments go to Vitest. */
for (const node of oldNodes) {
  console.log(`\n${node}`)
  const { passed } = await runSuiteOn(node, ['--project', 'unit', '--project', 'wire', ...process.argv.slice(2)], {
    print: true,
  })
  if (!passed) process.exitCode = 1
}
