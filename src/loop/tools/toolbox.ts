import type { ReportFailure } from '../report.ts'
import type { Tool } from './tool.ts'

/** Name clashes are reported once per name, for at most this many names. */
const maxReported = 1_000

/** A changing set of tools, such as those of an MCP server. Read before every model call. */
export interface ToolSource {
  readonly type: 'source'
  /** `log` writes to the log of the turn. Failures that the loop survives are reported to it. */
  tools(signal: AbortSignal, log?: ReportFailure): Promise<readonly Tool[]>
}

export interface Toolbox {
  /** Not a promise if there are no sources. */
  tools(signal: AbortSignal, reports: ToolboxReports): ToolMap | Promise<ToolMap>
}

/** Fixed tools must have distinct names; of tools from sources, the first with a name is used. */
export function createToolbox(options: readonly (Tool | ToolSource)[]): Toolbox {
  const sources = options.filter((tool) => tool.type === 'source')
  const fixed = new Map<string, Tool>()
  for (const tool of options) {
    if (tool.type === 'source') continue
    if (fixed.has(tool.name)) throw new TypeError(`createAgentLoop(): two tools have the name ${tool.name}`)
    fixed.set(tool.name, tool)
  }
  if (sources.length === 0) return { tools: () => fixed }
  const reported = new Set<string>()

  return {
    async tools(signal, { report, logFailure }) {
      const lists = await Promise.all(sources.map((source) => source.tools(signal, logFailure)))
      signal.throwIfAborted()
      const all = new Map(fixed)
      for (const tool of lists.flat()) {
        if (!all.has(tool.name)) all.set(tool.name, tool)
        else if (!reported.has(tool.name) && reported.size < maxReported) {
          reported.add(tool.name)
          const error = new Error(
            `Two tools are called ${tool.name}: only the first is used. Give one of them a prefix.`,
          )
          report({ error, message: 'two tools have the same name', level: 'warn', fields: { tool: tool.name } })
        }
      }
      return all
    },
  }
}

export interface ToolboxReports {
  readonly report: ReportFailure
  readonly logFailure: ReportFailure
}

type ToolMap = ReadonlyMap<string, Tool>
