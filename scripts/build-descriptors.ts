import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Compiles `proto/` into `src/core/transports/grpc/descriptors.ts`. Run this script after every change to `proto/`. */

const root = new URL('../', import.meta.url)
const target = new URL('src/core/transports/grpc/descriptors.ts', root)

export async function compileDescriptors(): Promise<string> {
  const args = ['build', 'proto', '--as-file-descriptor-set', '--exclude-source-info', '-o', '-#format=binpb']
  const buf = fileURLToPath(new URL('node_modules/.bin/buf', root))
  const { stdout } = await promisify(execFile)(buf, args, { cwd: root, encoding: 'buffer', maxBuffer: 2 ** 20 })
  const base64 = stdout.toString('base64')
  return `/** A FileDescriptorSet, generated from \`proto/\` by \`scripts/build-descriptors.ts\`. */\nexport const descriptors =\n  '${base64}'\n`
}

export async function currentDescriptors(): Promise<string> {
  return await readFile(target, 'utf8')
}

if (import.meta.main) await writeFile(target, await compileDescriptors())
