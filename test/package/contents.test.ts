import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { packageVersion } from '../../src/core/base/package-version.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const isBuilt = existsSync(new URL('../../dist/index.js', import.meta.url))

interface PackedFile {
  readonly path: string
  readonly size: number
}

interface Package {
  readonly files: readonly PackedFile[]
  /** Of the compressed package, in bytes. */
  readonly size: number
}

/** What `npm publish` would upload. */
async function pack(workspace: string): Promise<Package> {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { stdout } = await promisify(execFile)(npm, ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: `${root}${workspace}`,
  })
  const answer = JSON.parse(stdout) as readonly Package[] | Record<string, Package>
  return Object.values(answer)[0] ?? { files: [], size: 0 }
}

const packedFiles = async (workspace: string) => (await pack(workspace)).files

it('the version in the code is the one of the package', () => {
  expect(packageVersion).toBe(manifest.version)
})

describe.skipIf(!isBuilt)('the published package', () => {
  it('the package has the code, its declarations, the console and the documentation, and nothing else', async () => {
    const files = await packedFiles('')
    const paths = files.map(({ path }) => path)

    const targets = Object.values(manifest.exports).flatMap((entry) => Object.values(entry))
    const needed = targets.filter((target) => target.startsWith('./dist/')).map((target) => target.slice(2))
    expect(paths).toEqual(expect.arrayContaining([...needed, ...Object.values(manifest.bin)]))
    expect(paths).toEqual(
      expect.arrayContaining([
        ...['README.md', 'CHANGELOG.md', 'LICENSE', 'SECURITY.md', 'llms.txt', 'dist/console/index.html'],
        ...['docs/README.md', 'docs/tutorial/1-first-agent.md', 'docs/reference/api/client.md'],
      ]),
    )

    const folders = new Set(paths.filter((path) => path.includes('/')).map((path) => path.split('/')[0]))
    expect([...folders].toSorted()).toEqual(['dist', 'docs', 'skills'])
    expect(paths.filter((path) => /\.map$|\.test\.|\.db$|\.vitepress|\.tsbuildinfo$/.test(path))).toEqual([])
    expect(paths.filter((path) => path.startsWith('dist') && path.endsWith('.ts') && !path.endsWith('.d.ts'))).toEqual(
      [],
    )
  })

  it('the package is small: declarations are bundled, and no images are in it', async () => {
    const files = await packedFiles('')
    const sum = (pattern: RegExp) =>
      files.filter(({ path }) => pattern.test(path)).reduce((total, { size }) => total + size, 0)
    expect(files.filter(({ path }) => path.endsWith('.d.ts')).length).toBeLessThan(120)
    expect(files.filter(({ path }) => /\.(?:png|gif|svg|jpe?g|webp)$/.test(path) && !path.startsWith('dist/'))).toEqual(
      [],
    )
    expect(sum(/^dist\//)).toBeLessThan(5_000_000)
    expect(sum(/^docs\//)).toBeLessThan(2_500_000)
  })

  it('links of the packed documents lead to packed files, and are at most 2 MB with the code', async () => {
    const { files, size } = await pack('')
    const paths = new Set(files.map(({ path }) => path))
    const dead = files
      .filter(({ path }) => path.endsWith('.md'))
      .flatMap(({ path }) =>
        linksOf(path)
          .filter((target) => !paths.has(target))
          .map((target) => `${path}: ${target}`),
      )
    expect(dead).toEqual([])
    expect(size).toBeLessThan(2_000_000)
  })
})

/** The files that a document links to. Pictures are not packed: their texts are enough beside the code. */
function linksOf(document: string): readonly string[] {
  const text = readFileSync(`${root}${document}`, 'utf8').replace(/^```.*?^```$/gms, '')
  return Array.from(text.matchAll(/(?<!!\[[^\]]*)\]\(([^)#\s]+)/g), ([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => posix.normalize(posix.join(posix.dirname(document), link)))
}

describe.skipIf(!isBuilt)('the entries for web frameworks', () => {
  it.each(['fastify', 'hono', 'koa', 'next', 'server', 'sqlite'])(
    '%s can be bundled by a framework: it loads no package that may be missing, and no file by its path',
    async (entry) => {
      const name = entry === 'server' ? 'server.node' : entry
      const files = await loadedFiles(new URL(`../../dist/${name}.js`, import.meta.url))
      const code = [...files.values()].join('\n')
      const packages = [...code.matchAll(specifier)]
        .map(([, name, lazy]) => name ?? lazy ?? '')
        .filter((name) => !name.startsWith('.'))
      const known = new Set([...Object.keys(manifest.dependencies), 'node:'])
      expect(packages.filter((name) => !known.has(/^(?:node:|@[^/]+\/[^/]+|[^/]+)/.exec(name)?.[0] ?? ''))).toEqual([])
      expect(code).not.toMatch(/new URL\([^)]*import\.meta\.url/)
    },
  )
})

describe.skipIf(!isBuilt)('the entries for platforms without Node', () => {
  it.each(['server', 'server.workerd', 'cloudflare', 'auth', 'push', 'telemetry'])(
    '%s imports no module of Node, not even on demand',
    async (entry) => {
      const files = await loadedFiles(new URL(`../../dist/${entry}.js`, import.meta.url))
      const imports = [...files].flatMap(([file, code]) =>
        [...code.matchAll(specifier)].map(([, name, lazy]) => `${file.replace(/.*\/dist\//, '')}: ${name ?? lazy}`),
      )
      expect(imports.filter((line) => line.includes(': node:'))).toEqual([])
    },
  )
})

/** What static and dynamic imports in a built file name. */
const specifier = /^(?:import|export) (?:.* from )?"([^"]+)";$|\bimport\("([^"]+)"\)/gm

/** The text of a built file, and of the files of the package that it imports, also on demand. */
async function loadedFiles(file: URL, files = new Map<string, string>()): Promise<ReadonlyMap<string, string>> {
  if (files.has(file.href)) return files
  const code = await readFile(file, 'utf8')
  files.set(file.href, code)
  for (const [, name, lazy] of code.matchAll(specifier)) {
    const path = name ?? lazy ?? ''
    if (path.startsWith('.')) await loadedFiles(new URL(path, file), files)
  }
  return files
}

describe('the published schemas', () => {
  it('have code, declarations and JSON files, also after a second build', { timeout: 60_000 }, async () => {
    const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [compiler, '-p', 'schemas', '--showConfig'], {
      cwd: root,
    })
    // With the build information of an earlier run, the compiler would write nothing into the emptied folder.
    expect(JSON.parse(stdout).compilerOptions.incremental).toBe(false)
    if (!isBuilt) return
    const paths = (await packedFiles('schemas')).map(({ path }) => path)
    expect(paths).toEqual(
      expect.arrayContaining([
        ...['README.md', 'LICENSE', 'CHANGELOG.md', 'MIGRATION.md', 'dist/json/v1.1.0/base-message.json'],
        ...['dist/typescript/index.js', 'dist/typescript/index.d.ts', 'dist/json/a2a/v1.0/a2a.json'],
      ]),
    )
    expect(paths.filter((path) => !/^(?:dist\/|[^/]+$)/.test(path))).toEqual([])
  })
})
