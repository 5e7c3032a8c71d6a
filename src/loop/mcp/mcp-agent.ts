import type { Tool as McpTool } from '@modelcontextprotocol/client'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type Agent, agent } from '../../core/agent/agent.ts'
import { type Skill, skill } from '../../core/agent/skill.ts'
import type { Turn } from '../../core/agent/turn.ts'
import { defined, type JsonObject, sameJson } from '../../core/base/json.ts'
import { aFunction, checkOptions, text } from '../../core/base/options.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import type { Part } from '../../core/protocol/model.ts'
import type { LocalTool } from '../tools/tool.ts'
import { isToolResult, partsOf } from '../tools/tool-result.ts'
import { definitionOf, mcpTools } from './mcp-tools.ts'
import { type McpAddress, type McpToolsOptions, mcpToolsChecks } from './options.ts'

/** Options of `mcpAgent`. */
export interface McpAgentOptions
  extends Pick<
    McpToolsOptions,
    'include' | 'connectTimeout' | 'maxTools' | 'maxMessage' | 'negotiation' | 'onProblem'
  > {
  /** Name of the agent. Defaults to `MCP tools`. */
  readonly name?: string
  readonly description?: string
  /** Called with what a tool returns, before it is stored. Returns other parts to replace them. */
  readonly onResult?: (parts: readonly Part[]) => Promise<readonly Part[]>
}

/** The tools of an MCP server as an agent. */
export interface McpAgent extends AsyncDisposable {
  /**
   * The agent with the tools that the server has now: another object after they have changed. Rejects while the server
   * cannot be reached.
   */
  agent(signal?: AbortSignal): Promise<Agent>
  /** Stops the started program or ends the session. */
  close(): Promise<void>
}

/**
 * Makes an agent without a model of an MCP server: each tool is a typed skill, called with its arguments as a data part.
 *
 * @example
 * const stock = mcpAgent({ url: 'https://mcp.example.com/mcp' }, { name: 'Stock' })
 * const server = await serve(await stock.agent())
 */
export function mcpAgent(address: McpAddress, options: McpAgentOptions = {}): McpAgent {
  const { include, connectTimeout, maxTools, maxMessage, negotiation, onProblem } = mcpToolsChecks
  const checks = { include, connectTimeout, maxTools, maxMessage, negotiation, onProblem }
  checkOptions<McpAgentOptions>('mcpAgent', options, { ...checks, name: text, description: text, onResult: aFunction })
  const { name = 'MCP tools', description, onResult = async (parts) => parts, ...toolOptions } = options
  const source = mcpTools(address, { ...toolOptions, required: true })
  let current: { readonly agent: Agent; readonly tools: readonly (McpTool | undefined)[] } | undefined

  async function call(tool: LocalTool, input: unknown, turn: Turn): Promise<readonly Part[] | undefined> {
    const { taskId, contextId, signal, trace } = turn
    const context = {
      taskId,
      contextId,
      toolCallId: turn.message.messageId,
      signal,
      trace,
      turn,
      progress: (note: string) => void turn.status('working', note).catch(() => {}),
      artifact() {},
    }
    let result: unknown
    try {
      const activity = { type: 'tool', tool: tool.name, callId: context.toolCallId } as const
      result = await turn.observe(activity, async () => await tool.run(input, context))
    } catch (error) {
      signal.throwIfAborted()
      throw new A2AError('unavailable', `The tool ${tool.name} cannot be called at the moment.`, { cause: error })
    }
    if (!isToolResult(result)) return []
    const parts = await onResult(partsOf(result))
    if (!result.isError) return parts
    await turn.fail({ parts: parts.length > 0 ? parts : [{ text: 'The tool failed without a message.' }] })
    return undefined
  }

  function skillOf(tool: LocalTool): Skill {
    const { title = tool.name, outputSchema } = definitionOf(tool) ?? {}
    const shared = {
      id: tool.name,
      name: title,
      description: tool.description ?? '',
      tags: ['mcp'],
      input: tool.input,
      ...defined({ inputJsonSchema: tool.inputJsonSchema }),
    }
    if (!outputSchema) {
      const outputModes = ['*/*']
      return skill({ ...shared, outputModes, run: async (input, turn) => contentOf(await call(tool, input, turn)) })
    }
    return skill({
      ...shared,
      output: anyOutput,
      outputJsonSchema: outputSchema as JsonObject,
      async run(input, turn) {
        const parts = await call(tool, input, turn)
        const structured = parts?.find((part) => 'data' in part)
        const files = parts?.filter((part) => 'raw' in part || 'url' in part) ?? []
        for (const part of files) await turn.artifact(part.filename ?? tool.name).close({ parts: [part] })
        return structured && 'data' in structured ? structured.data : undefined
      },
    })
  }

  return {
    async agent(signal = new AbortController().signal) {
      const tools = (await source.tools(signal)).filter((tool) => tool.type === 'local')
      const described = tools.map(definitionOf)
      if (current && sameJson(current.tools, described)) return current.agent
      const skills = tools.map(skillOf)
      if (skills.length === 0) throw new A2AError('unavailable', 'The MCP server has no tools that can be used.')
      const made = agent(defined({ name, description, skills, outputModes: ['*/*'] }))
      current = { agent: made, tools: described }
      return made
    },
    close: () => source.close(),
    [Symbol.asyncDispose]: () => source.close(),
  }
}

const contentOf = (parts: readonly Part[] | undefined) => (parts && parts.length > 0 ? { parts } : undefined)

/** The MCP client has checked the output by the schema of the tool. */
const anyOutput: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'parley', validate: (value) => ({ value }) },
}
