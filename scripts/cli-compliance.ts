import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { requirements } from '../test/cli/requirements.ts'

/**
 * Runs the tests of the command line and prints which requirements of the A2A command line specification they prove.
 *
 *     node scripts/cli-compliance.ts > report.md
 */
const file = join(mkdtempSync(join(tmpdir(), 'parley-cli-')), 'results.json')
spawnSync('npx', ['vitest', 'run', 'test/cli', '--reporter=json', `--outputFile=${file}`], { stdio: 'ignore' })
const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as {
  testResults: { assertionResults: { title: string; status: string }[] }[]
}
const tests = testResults.flatMap(({ assertionResults }) => assertionResults)
const rows = requirements.map(({ id, tier }) => {
  const own = tests.filter(({ title }) => title.includes(id))
  const passed = own.filter(({ status }) => status === 'passed').length
  const outcome = own.length === 0 ? 'not measured' : passed === own.length ? 'pass' : passed > 0 ? 'partial' : 'fail'
  return { id, tier, outcome, tests: own.length }
})

console.log('# Compliance of parley with the A2A command line specification\n')
for (const tier of [1, 2, 3]) {
  const own = rows.filter((row) => row.tier === tier)
  console.log(`## Tier ${tier}: ${own.filter(({ outcome }) => outcome === 'pass').length} of ${own.length} pass\n`)
  console.log('| requirement | outcome | tests |\n|---|---|--:|')
  for (const row of own) console.log(`| ${row.id} | ${row.outcome} | ${row.tests} |`)
  console.log('')
}
if (rows.some(({ outcome }) => outcome !== 'pass')) process.exitCode = 1
