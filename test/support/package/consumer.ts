import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import manifest from '../../../package.json' with { type: 'json' }
import { temporaryDirectory } from '../temporary-directory.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** The import names of the package: `parley-a2a`, `parley-a2a/client` and so on. */
export const entryNames = Object.keys(manifest.exports)
  .filter((path) => path !== './package.json')
  .map((path) => path.replace('.', manifest.name))

/**
 * A project of a user: a folder with the built package as npm would install it, its dependencies, and the given packages.
 * Optional peers are missing unless they are given.
 */
export async function createConsumer(
  packages: readonly string[],
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const project = await temporaryDirectory()
  await installPackage(project, packages)
  for (const [name, text] of Object.entries(files)) await writeFile(join(project, name), text)
  return project
}

/** Puts the built package, its dependencies and the given packages into a folder. */
export async function installPackage(project: string, packages: readonly string[]): Promise<void> {
  const modules = join(project, 'node_modules')
  const installed = join(modules, manifest.name)
  await mkdir(installed, { recursive: true })
  for (const file of ['package.json', 'dist']) await cp(join(root, file), join(installed, file), { recursive: true })
  for (const name of [...Object.keys(manifest.dependencies), ...packages]) {
    const link = join(modules, name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(root, 'node_modules', name), link)
  }
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }')
}
