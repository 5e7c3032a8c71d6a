#!/usr/bin/env node
// @ts-check
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { cancel, intro, isCancel, outro, select, text } from '@clack/prompts'
import { createProject, InputError, problemOf, templates } from './create.js'

const help = `Starts a project with an A2A agent.

Usage: npm create parley-a2a [folder] -- [options]

Options:
  -t, --template <name>  One of the templates below. (default: asked, or plain)
  --install              Install the packages. (default: only in a terminal)
  --no-install           Do not install the packages.
  -h, --help             Show this help.
  -v, --version          Show the version.

Templates:
${Object.entries(templates)
  .map(([name, summary]) => `  ${name.padEnd(10)} ${summary}`)
  .join('\n')}
`

try {
  process.exitCode = await run()
} catch (error) {
  const isInput = error instanceof InputError || isArgumentError(error)
  console.error(isInput ? error.message : error)
  process.exitCode = isInput ? 2 : 1
}

/** @returns {Promise<number>} The exit code. */
async function run() {
  const { values, positionals } = parseArgs({
    options: {
      template: { type: 'string', short: 't' },
      install: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean', short: 'v' },
    },
    allowPositionals: true,
    allowNegative: true,
  })
  if (values.help) return print(help)
  if (values.version)
    return print(`${JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')).version}\n`)
  if (positionals.length > 1) throw new InputError(`Expected one folder, not ${positionals.join(' and ')}.`)
  const isAsking = process.stdin.isTTY && process.stdout.isTTY
  const chosen = isAsking ? await ask(positionals[0], values.template) : { folder: positionals[0], ...values }
  if (!chosen) return 130
  if (chosen.folder === undefined) throw new InputError('Name a folder: npm create parley-a2a my-agent')
  const { path } = createProject(chosen.folder, chosen.template ?? 'plain')
  const isInstalled = (values.install ?? isAsking) && install(path)
  const place = relative('', path)
  const steps = [
    ...(place ? [`cd ${quoted(place)}`] : []),
    ...(isInstalled ? [] : ['npm install']),
    'npm test',
    'npm start',
  ]
  const message = `The project is in ${place || 'this folder'}. Next:\n\n${steps.map((step) => `  ${step}`).join('\n')}\n`
  if (isAsking) outro(message)
  else print(message)
  return values.install && !isInstalled ? 1 : 0
}

/**
 * Asks for what the flags do not say. Undefined if the user gives up.
 *
 * @param {string | undefined} folder
 * @param {string | undefined} template
 */
async function ask(folder, template) {
  if (folder !== undefined && template !== undefined) return { folder, template }
  intro('A new A2A agent')
  const validate = (/** @type {string | undefined} */ value) => problemOf(value || 'my-agent')
  const path =
    folder ?? (await text({ message: 'In which folder?', placeholder: 'my-agent', defaultValue: 'my-agent', validate }))
  if (isCancel(path)) return gaveUp()
  const options = Object.entries(templates).map(([value, hint]) => ({ value, label: value, hint }))
  const name = template ?? (await select({ message: 'Which template?', options }))
  return isCancel(name) ? gaveUp() : { folder: path, template: name }
}

/** @returns {undefined} */
function gaveUp() {
  cancel('Nothing was written.')
}

/** @param {string} path */
function install(path) {
  const { status } = spawnSync('npm', ['install', '--no-fund'], {
    cwd: path,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  return status === 0
}

/** @param {string} message */
function print(message) {
  process.stdout.write(message)
  return 0
}

/** @param {string} path */
function quoted(path) {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

/**
 * @param {unknown} error
 * @returns {error is Error}
 */
function isArgumentError(error) {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}
