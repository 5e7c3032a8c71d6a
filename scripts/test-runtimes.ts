import { oldNodes, runSuiteOn } from '../test/support/programs/suite-on-node.ts'

/**
 * Runs all unit and wire tests on the lowest supported versions of Node, or on the named ones: `npm run test:runtimes
 * node-22.13`. Further arguments go to Vitest.
 */
const args = process.argv.slice(2)
const named = oldNodes.filter((node) => args.includes(node))
const vitestArgs = args.filter((argument) => !named.some((node) => node === argument))

for (const node of named.length > 0 ? named : oldNodes) {
  console.log(`\n${node}`)
  const { passed } = await runSuiteOn(node, ['--project', 'unit', '--project', 'wire', ...vitestArgs], { print: true })
  if (!passed) process.exitCode = 1
}
