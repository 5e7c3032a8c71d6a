import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { dialectPairs } from './dialect-pairs.ts'
import { dialectNames, dialectsOfVersion, protocolVersions, taskForms } from './versions.ts'

const root = join(import.meta.dirname, '../../..')

it('the table of versions agrees with the dialects', () => {
  for (const [name, { server, client }] of Object.entries(dialectPairs)) {
    expect([server.name, client.name]).toEqual([name, name])
    expect(client.version).toBe(server.version)
    expect(client.grpc).toEqual(server.grpc)
  }
  for (const version of protocolVersions) {
    for (const name of dialectsOfVersion[version]) expect(dialectPairs[name].client.version).toBe(version)
  }
  expect(new Set(dialectNames)).toEqual(new Set(Object.keys(dialectPairs)))
  for (const { id } of taskForms) expect(dialectNames).toContain(`v${id}`)
})

/** Files that name a version for a reason other than to treat callers of it differently. */
const exceptions: Readonly<Record<string, string>> = {
  'src/core/client/compat.ts': 'Its users write and read the JSON of the 0.3 house profile.',
  'src/core/server/card.ts': 'It recognises readers of cards by the version that they name.',
  'src/entries/client-compat.ts': 'It exports the types of that JSON.',
  'src/entries/loop-compat.ts': 'It exports the types of that JSON.',
  'src/core/server/dialect-options.ts': 'It describes an option of one dialect.',
  'src/gateway/losses.ts': 'It counts what one dialect cannot express.',
  'src/gateway/gateway.ts': 'The version is the one of the catalog format.',
  'src/cli/commands/operate/import-sdk.ts': 'The version is the one of a format of the official SDK.',
  'src/operator/foreign.ts': 'It names the form of a card as it was received.',
  'src/registry/catalog/write-catalog.ts': 'The version is the one of the catalog format.',
}

it('nothing outside dialects/ checks a version', () => {
  const files = globSync(['src/**/*.ts', 'console/src/**/*.{ts,tsx}'], { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    // The suite judges agents by each version's text, so it does not rely on the codecs.
    // The suites for stores are tests.
    .filter((file) => !/^src\/(core\/dialects|conformance|testing\/stores)\/|\.test\.tsx?$/.test(file))
  expect(files.length).toBeGreaterThan(500)
  const findings = files
    .filter((file) => !(file in exceptions))
    .flatMap((file) =>
      withoutComments(readFileSync(join(root, file), 'utf8'))
        .split('\n')
        .filter((line) => versionChecks.some((pattern) => pattern.test(line)))
        .map((line) => `${file}: ${line.trim()}`),
    )
  expect(findings).toEqual([])
})

const versionChecks = [
  // A version or the name of a dialect.
  /(['"`])v?(0\.[1-3]|1\.[01])(-house|-proto)?\1/,
  /\bversion\.(startsWith|slice|match)\(/i,
  // The codec of a version. The one of 1.0 is the JSON of the model.
  /from '[^']*dialects\/v(?!1\.0\/)\d/,
]

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}
