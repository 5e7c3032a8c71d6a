import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isList, isObject } from '../core/base/json.ts'
import { cacheFolder } from './settings.ts'

/** Agents that are remembered; the oldest one gives way. */
const maxAgents = 20

/** An agent that the console was connected to: its address and its name, never a credential. */
export interface RecentAgent {
  readonly url: string
  readonly name?: string
}

const file = () => join(cacheFolder(), 'console-agents.json')

/** The agents that the console was connected to, the latest first. */
export function readConsoleAgents(): readonly RecentAgent[] {
  try {
    const stored: unknown = JSON.parse(readFileSync(file(), 'utf8'))
    const agents = isList(stored) ? stored.filter(isObject) : []
    return agents.flatMap(({ url, name }) =>
      typeof url === 'string' ? [typeof name === 'string' ? { url, name } : { url }] : [],
    )
  } catch {
    // A missing or broken file is an empty one.
    return []
  }
}

export function rememberConsoleAgent(agent: RecentAgent): void {
  const agents = [agent, ...readConsoleAgents().filter(({ url }) => url !== agent.url)].slice(0, maxAgents)
  try {
    mkdirSync(cacheFolder(), { recursive: true, mode: 0o700 })
    const temporary = `${file()}.${process.pid}`
    writeFileSync(temporary, JSON.stringify(agents), { mode: 0o600 })
    renameSync(temporary, file())
  } catch {
    // A read-only home is no reason to fail.
  }
}
