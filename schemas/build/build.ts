import { mkdir, writeFile } from 'node:fs/promises'
import { a2aSchemas } from './a2a-schemas.ts'
import { generatedExamples } from './examples.ts'
import { standaloneSchemas, versions } from './mesh-schemas.ts'
import { pythonModels } from './python-models.ts'
import { typescriptTypes } from './typescript-types.ts'

/** All generated files of this package by path. Their source is `src/mesh/payloads.ts` and its neighbours. */
export function outputs(): ReadonlyMap<string, string> {
  return new Map([
    ...versions.flatMap((version) =>
      [...standaloneSchemas(version)].map(([name, schema]) => [`json/v${version}/${name}`, toText(schema)] as const),
    ),
    ['json/a2a/v1.0/a2a.json', toText(a2aSchemas())],
    ['typescript/types.ts', typescriptTypes()],
    ['python/a2a_schemas/v1_0.py', pythonModels('1.0.0')],
    ['python/a2a_schemas/v1_1.py', pythonModels('1.1.0')],
    ...[...generatedExamples()].map(([name, examples]) => [`examples/${name}`, toLines(examples)] as const),
  ])
}

/** Run this file after every change of its sources. */
if (import.meta.main) {
  for (const [path, text] of outputs()) {
    const target = new URL(`../${path}`, import.meta.url)
    await mkdir(new URL('./', target), { recursive: true })
    await writeFile(target, text)
  }
}

function toText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** One example per line. */
function toLines(values: readonly unknown[]): string {
  return `[\n${values.map((value) => `  ${JSON.stringify(value)}`).join(',\n')}\n]\n`
}
