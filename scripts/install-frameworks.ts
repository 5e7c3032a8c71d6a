import { execFileSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Installs the agent frameworks that the adapters are tested with, and further front ends, unless they are there already.
 *
 *     node scripts/install-frameworks.ts
 */
for (const name of ['frameworks', 'front-ends']) {
  const folder = resolve(import.meta.dirname, '../test', name)
  const installed = join(folder, 'node_modules/.package-lock.json')
  const isCurrent =
    existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(folder, 'package-lock.json')).mtimeMs
  if (!isCurrent) execFileSync('npm', ['ci'], { cwd: folder, stdio: 'inherit' })
}
