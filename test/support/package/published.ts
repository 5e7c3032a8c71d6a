import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type OutputChunk, rolldown } from 'rolldown'
import config from '../../../rolldown.config.ts'

/** Builds the package like `npm run build`, but into another folder. */
export async function buildInto(folder: string): Promise<Build> {
  const chunks: OutputChunk[] = []
  const parts = config.filter(
    ({ input }) => !Object.values(input as object).some((file) => `${file}`.endsWith('.d.ts')),
  )
  for (const { output, ...input } of parts) {
    const bundle = await rolldown(input)
    try {
      const { output: files } = await bundle.write({ ...output, dir: folder })
      chunks.push(...files.filter((file) => file.type === 'chunk'))
    } finally {
      await bundle.close()
    }
  }
  return createBuild(chunks)
}

export interface Build {
  /** The source files, relative to the repository, and the packages that an entry loads, also on demand. */
  reachableFrom(entry: string): { readonly sources: readonly string[]; readonly packages: readonly string[] }
}

const root = fileURLToPath(new URL('../../..', import.meta.url))

function createBuild(chunks: readonly OutputChunk[]): Build {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  return {
    reachableFrom(entry) {
      const names = new Set([entry])
      // Iterating over a set also visits the names added on the way.
      for (const name of names) {
        const { imports = [], dynamicImports = [] } = byName.get(name) ?? {}
        for (const imported of [...imports, ...dynamicImports]) names.add(imported)
      }
      const reachable = [...names].map((name) => byName.get(name))
      return {
        sources: reachable.flatMap((chunk) => chunk?.moduleIds.map((id) => relative(root, id)) ?? []),
        packages: [...names].filter((name) => !byName.has(name)),
      }
    },
  }
}
