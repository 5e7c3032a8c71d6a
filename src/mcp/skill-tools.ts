import type { JsonSchemaType, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { Json, JsonObject } from '../base/json.ts'
import type { Client } from '../client/client.ts'
import type { Input } from '../client/send-request.ts'
import { readSkillSchemas } from '../protocol/extensions/typed-skills.ts'
import type { NamedAgent } from './agents.ts'

/** Cards are written by others. */
const maxSkills = 256

const maxSchema = 64 * 1024

/** A tool of MCP that has a skill of an agent do its work, or goes on with a task of the agent. */
export interface SkillTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly client: Client
  /** Undefined for the tool that answers questions of tasks. */
  readonly skill: string | undefined
  readonly input: StandardSchemaWithJSON
  readonly output: StandardSchemaWithJSON | undefined
  /** What the agent is told. */
  readonly toInput: (given: JsonObject) => Input
}

/** The tools of agents. Their schemas are compiled once, and one that cannot be is told and left to the agent. */
export function skillToolsOf(
  agents: readonly NamedAgent[],
  compile: Compile,
  onError: (error: unknown) => void,
): readonly SkillTool[] {
  const taken = new Set<string>()

  function nameOf(wanted: string): string {
    const plain = wanted.replace(/[^\w-]+/g, '_').slice(0, 60)
    let name = plain
    for (let next = 2; taken.has(name); next++) name = `${plain}_${next}`
    taken.add(name)
    return name
  }

  function compiled(schema: JsonObject | undefined, what: string): StandardSchemaWithJSON | undefined {
    try {
      if (schema && JSON.stringify(schema).length > maxSchema) throw new Error(`it has more than ${maxSchema} bytes`)
      return schema && compile(schema as JsonSchemaType)
    } catch (error) {
      onError(new Error(`The schema of ${what} cannot be used: ${error instanceof Error ? error.message : error}`))
      return undefined
    }
  }

  function toolsOf({ client, prefix }: NamedAgent): readonly SkillTool[] {
    const schemas = readSkillSchemas(client.card)
    // The name of this one is told to models: it is never another.
    const answer = { ...answerTool(client, compile), name: nameOf(`${prefix}answer_task`) }
    const { name: agent, skills: all } = client.card
    if (all.length > maxSkills) onError(new Error(`${agent} has more than ${maxSkills} skills: the first are used.`))
    const skills = all.slice(0, maxSkills).map(({ id, name, description, examples = [] }): SkillTool => {
      const { input, output } = schemas.get(id) ?? {}
      const isWrapped = input !== undefined && input.type !== 'object'
      const taken = isWrapped ? { type: 'object', properties: { input }, required: ['input'] } : (input ?? textSchema)
      return {
        name: nameOf(`${prefix}${id}`),
        title: name,
        description: [description, ...examples.slice(0, 5).map((each) => `Example: ${each}`)]
          .join('\n')
          .slice(0, 4_000),
        client,
        skill: id,
        input: compiled(taken, `the input of the skill "${id}"`) ?? compile({ type: 'object' }),
        output: compiled(output, `the output of the skill "${id}"`),
        toInput: (given) => (input ? asData(isWrapped ? given.input : given) : `${given.text}`),
      }
    })
    return [...skills, answer]
  }

  return agents.flatMap(toolsOf)
}

type Compile = (schema: JsonSchemaType) => StandardSchemaWithJSON

function answerTool(client: Client, compile: Compile): Omit<SkillTool, 'name'> {
  const { name } = client.card
  return {
    title: `Answer ${name}`,
    description: `Answers a question that a task of ${name} has asked, so that the task goes on. Use it only when a result says so.`,
    client,
    skill: undefined,
    input: compile({
      type: 'object',
      properties: {
        taskId: { type: 'string', description: 'The id of the task that has asked.' },
        answer: { type: 'string', description: 'The answer.' },
      },
      required: ['taskId', 'answer'],
    }),
    output: undefined,
    toInput: (given) => `${given.answer}`,
  }
}

const textSchema: JsonObject = {
  type: 'object',
  properties: { text: { type: 'string', description: 'What to say to the agent.' } },
  required: ['text'],
}

function asData(data: Json | undefined): Input {
  return { data: data ?? null, mediaType: 'application/json' }
}
