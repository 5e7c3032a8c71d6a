import type { Tool } from './tool.ts'

/** Names that are said to be taken, each once. */
const maxTold = 1_000

/** Tools that come and go, such as those of an MCP server. Asked before the model is. */
export interface ToolSource {
  readonly type: 'source'
  tools(signal: AbortSignal): Promise<readonly Tool[]>
}

export interface Toolbox {
  tools(signal: AbortSignal, report: (error: unknown) => void): Found | Promise<Found>
}

/** Two tools with one name: those that are given may not have one, of those that come the first is taken. */
export function createToolbox(given: readonly (Tool | ToolSource)[]): Toolbox {
  const sources = given.filter((each) => each.type === 'source')
  const own = new Map<string, Tool>()
  for (const tool of given) {
    if (tool.type === 'source') continue
    if (own.has(tool.name)) throw new TypeError(`createAgentLoop(): two tools have the name ${tool.name}`)
    own.set(tool.name, tool)
  }
  if (sources.length === 0) return { tools: () => own }
  const told = new Set<string>()

  return {
    async tools(signal, report) {
      const found = await Promise.all(sources.map((source) => source.tools(signal)))
      signal.throwIfAborted()
      const all = new Map(own)
      for (const tool of found.flat()) {
        if (!all.has(tool.name)) all.set(tool.name, tool)
        else if (!told.has(tool.name) && told.size < maxTold) {
          told.add(tool.name)
          report(new Error(`Two tools are called ${tool.name}: only the first is used. Give one of them a prefix.`))
        }
      }
      return all
    },
  }
}

type Found = ReadonlyMap<string, Tool>
