import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { env, execPath } from 'node:process'

/**
 * Judges Parley and agents of the official SDK by the conformance suite, and writes docs/reference/conformance-results.md.
 *
 *     npm run conformance
 */
const root = resolve(import.meta.dirname, '..')
const { status } = spawnSync(
  execPath,
  [resolve(root, 'node_modules/vitest/vitest.mjs'), 'run', 'test/conformance/agents.test.ts'],
  { cwd: root, env: { ...env, UPDATE_DOCS: '1' }, stdio: 'inherit' },
)
process.exitCode = status ?? 1
