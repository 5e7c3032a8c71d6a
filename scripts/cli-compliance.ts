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
spawnSync('npx', ['vitest', 'run', 'test/cli/specification', '--reporter=json', `--outputFile=${file}`], {
  stdio: 'ignore',
})
const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as {
  testResults: { assertionResults: { title: string; status: string }[] }[]
}
const tests = testResults.flatMap(({ assertionResults }) => assertionResults)
const rows = requirements.map(({ id, tier }) => {
  const own = tests.find(({ title }) => title.startsWith(`${id}: `))
  const outcome = own === undefined ? 'not measured' : own.status === 'passed' ? 'pass' : 'fail'
  return { id, tier, outcome, proof: own?.title.slice(id.length + 2) ?? '' }
})

console.log('# Compliance of parley with the A2A command line specification\n')
for (const tier of [1, 2, 3]) {
  const own = rows.filter((row) => row.tier === tier)
  console.log(`## Tier ${tier}: ${own.filter(({ outcome }) => outcome === 'pass').length} of ${own.length} pass\n`)
  console.log('| requirement | outcome | what the test shows |\n|---|---|---|')
  for (const { id, outcome, proof } of own) console.log(`| ${id} | ${outcome} | ${proof} |`)
  console.log('')
}
if (rows.some(({ outcome }) => outcome !== 'pass')) process.exitCode = 1
