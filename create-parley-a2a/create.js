// @ts-check
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('templates', import.meta.url))

/** What each template is, in the order in which they are offered. */
export const templates = Object.freeze({
  plain: 'an agent that is one function',
  model: 'a language model with tools, by the AI SDK and MCP',
  langgraph: 'a LangGraph graph behind A2A',
  express: 'an agent in an Express application',
  next: 'an agent in a Next.js application',
  worker: 'an agent on Cloudflare Workers, with Durable Objects',
  gateway: 'a gateway in front of agents that you do not change',
})

/** npm leaves these out of packages by their real names. */
const renamed = {
  npmrc: '.npmrc',
  gitignore: '.gitignore',
  dockerignore: '.dockerignore',
  'env.example': '.env.example',
}

/** What the user gave cannot be used. The message says what to do. */
export class InputError extends Error {}

/**
 * Writes a project into a folder, which must be missing or empty.
 *
 * @param {string} path
 * @param {string} template
 * @returns {{ readonly path: string, readonly name: string }} The absolute path, and the name of the package.
 */
export function createProject(path, template) {
  if (!Object.hasOwn(templates, template)) {
    throw new InputError(`There is no template ${JSON.stringify(template)}. Use ${list(Object.keys(templates))}.`)
  }
  const target = resolve(path)
  const problem = problemOf(target)
  if (problem) throw new InputError(problem)
  const name = packageName(basename(target))
  for (const part of ['shared', template]) cpSync(join(folder, part), target, { recursive: true })
  for (const [from, to] of Object.entries(renamed)) {
    if (existsSync(join(target, from))) renameSync(join(target, from), join(target, to))
  }
  const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))
  for (const file of ['package.json', 'README.md', 'wrangler.jsonc']) {
    const place = join(target, file)
    if (!existsSync(place)) continue
    const text = readFileSync(place, 'utf8').replaceAll('{{name}}', name).replaceAll('{{version}}', version)
    writeFileSync(place, text)
  }
  return { path: target, name }
}

/**
 * Why a folder cannot be used, or undefined.
 *
 * @param {string} path
 */
export function problemOf(path) {
  let files
  try {
    files = readdirSync(path)
  } catch (error) {
    const isMissing = /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT'
    return isMissing ? undefined : `${path} is no folder. Name a new one.`
  }
  // A new repository is as good as an empty folder.
  if (files.every((file) => file === '.git')) return
  return `${path} is not empty. Name a new folder.`
}

/**
 * A valid name of a package, from the name of a folder.
 *
 * @param {string} text
 */
function packageName(text) {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|[._-]+$/g, '')
    .slice(0, 100)
  return name || 'agent'
}

/** @param {readonly string[]} names */
const list = (names) => `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
