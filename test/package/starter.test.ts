import { spawnSync } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { createProject, templates } from '../../create-parley-a2a/create.js'
import { init } from '../../src/cli/commands/init.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const main = fileURLToPath(new URL('../../create-parley-a2a/main.js', import.meta.url))

/** Runs `npm create parley-a2a` without a terminal. */
function create(cwd: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { cwd, encoding: 'utf8' })
  return { status, stdout, stderr }
}

it('wrong input is one sentence and exit code 2, and nothing is written', async () => {
  const folder = await temporaryDirectory()
  await mkdir(join(folder, 'full'))
  await writeFile(join(folder, 'full/notes.txt'), 'keep')
  await writeFile(join(folder, 'file'), '')
  const wrong: readonly (readonly [args: string[], message: string])[] = [
    [
      ['new', '--template', 'plane'],
      'There is no template "plane". Use plain, model, langgraph, express, next, worker or gateway.',
    ],
    [['full'], 'is not empty. Name a new folder.'],
    [['file'], 'is no folder. Name a new one.'],
    [[], 'Name a folder: npm create parley-a2a my-agent'],
    [['one', 'two'], 'Expected one folder, not one and two.'],
    [['new', '--tmplate', 'plain'], "Unknown option '--tmplate'"],
  ]
  for (const [args, message] of wrong) {
    const { status, stdout, stderr } = create(folder, ...args)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  }
  expect((await readdir(folder)).sort()).toEqual(['file', 'full'])
})

it('the folder names the package, and what to do next is printed', async () => {
  const folder = await temporaryDirectory()
  const { status, stdout } = create(folder, 'My Agent!')
  expect(status).toBe(0)
  expect(stdout).toContain("cd 'My Agent!'\n  npm install\n  npm test\n  npm start")
  expect(JSON.parse(await readFile(join(folder, 'My Agent!/package.json'), 'utf8')).name).toBe('my-agent')
})

it('every template is a whole project, and no placeholder is left', async () => {
  for (const template of Object.keys(templates)) {
    const { path } = createProject(join(await temporaryDirectory(), 'app'), template)
    const files = await readdir(path)
    expect(files).toEqual(
      expect.arrayContaining([
        ...['.dockerignore', '.env.example', '.gitignore', 'Dockerfile', 'README.md'],
        ...['agent.test.ts', 'agent.ts', 'client.ts', 'package.json', 'tsconfig.json'],
      ]),
    )
    for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      expect(await readFile(join(entry.parentPath, entry.name), 'utf8')).not.toContain('{{')
    }
  }
})

it('parley init offers the templates of the creator', () => {
  expect(init.options?.template?.choices).toEqual(Object.keys(templates))
})
