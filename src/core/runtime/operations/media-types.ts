import type { AgentProfile } from '../../agent/agent.ts'
import { A2AError, invalidParams } from '../../protocol/errors.ts'
import { toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import { credentialsType } from '../../protocol/extensions/in-task-credentials.ts'
import { requestedSkill } from '../../protocol/extensions/typed-skills.ts'
import { defaultModes, isInRanges } from '../../protocol/media-types.ts'
import type { Part } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'

/** The types of parts that belong to extensions, which every agent accepts. */
const extensionTypes: ReadonlySet<string> = new Set([toolUse, toolResult, credentialsType])

export interface MediaTypeOptions {
  /** Whether parts that the agent does not accept are rejected. Defaults to `checked`. */
  readonly inputModes?: 'checked' | 'unchecked'
  /** Whether requests are rejected whose caller accepts nothing that the agent produces. Defaults to `checked`. */
  readonly outputModes?: 'checked' | 'unchecked'
  /** What the extended card says beyond the public one. Its types and skills are accepted as well. */
  readonly extendedCard?: Partial<AgentProfile>
}

/** Checks the media types of messages. Throws `content-type-not-supported`. */
export interface MediaTypeCheck {
  /** Requires that the skill that the message names, or the agent, accepts its parts and produces an accepted type. */
  requireForNewTask(request: SendRequest): void
  /** The same for a message to an existing task. Questions can be answered in text and JSON, whatever the agent accepts. */
  requireForTask(request: SendRequest): void
}

/** Undefined if nothing is checked. */
export function createMediaTypeCheck(profile: AgentProfile, options: MediaTypeOptions): MediaTypeCheck | undefined {
  const { inputModes = 'checked', outputModes = 'checked', extendedCard = {} } = options
  if (inputModes === 'unchecked' && outputModes === 'unchecked') return undefined
  const skills = [...(profile.skills ?? []), ...(extendedCard.skills ?? [])]
  const accepted = [...(profile.inputModes ?? defaultModes), ...(extendedCard.inputModes ?? [])]
  const produced = profile.outputModes && [...profile.outputModes, ...(extendedCard.outputModes ?? [])]
  // A message without the name of a skill may be for any of them.
  const input = [...accepted, ...skills.flatMap((skill) => skill.inputModes ?? [])]
  // An author who declares nothing may produce anything: the accepted types are a wish, which the agent can read.
  const output = produced && [...produced, ...skills.flatMap((skill) => skill.outputModes ?? [])]
  const agentModes = createModes('This agent', input, output)
  const answerModes = createModes('This agent', [...input, ...defaultModes], output)
  const modesBySkill = new Map(
    skills.map(({ id, inputModes = accepted, outputModes = produced }) => [
      id,
      createModes(`The skill "${id}"`, inputModes, outputModes),
    ]),
  )

  function modesFor(request: SendRequest): Modes {
    const skill = requestedSkill(request)
    return (skill === undefined ? undefined : modesBySkill.get(skill)) ?? agentModes
  }

  function requireAccepted({ message, configuration }: SendRequest, modes: Modes): void {
    if (inputModes === 'checked') requireInput(message.parts, modes)
    const accepted = configuration?.acceptedOutputModes
    if (accepted?.length && outputModes === 'checked') requireOutput(accepted, modes)
  }

  return {
    requireForNewTask: (request) => requireAccepted(request, modesFor(request)),
    requireForTask: (request) => requireAccepted(request, answerModes),
  }
}

/** Requires that the URLs of parts are absolute, and of one of the schemes; without these, of any that is safe to pass on. */
export function requireUrlSchemes(parts: readonly Part[], schemes: readonly string[] | undefined): void {
  const index = parts.findIndex((part) => 'url' in part && !isAbsolute(part.url, schemes))
  const part = parts[index]
  if (!part || !('url' in part)) return
  const scheme = schemeOf(part.url)
  const actual = scheme === undefined ? 'a relative one' : isAllowed(scheme, schemes) ? 'an invalid one' : `${scheme}:`
  const expected = schemes ? ` of ${schemes.join(', ')}` : ', neither of a file nor of a script'
  throw invalidParams(`message.parts[${index}]`, `expected an absolute URL${expected}, got ${actual}`)
}

interface Modes {
  readonly subject: string
  readonly input: readonly string[]
  /** Undefined if the author declares none. */
  readonly output: readonly string[] | undefined
}

function createModes(subject: string, input: readonly string[], output: readonly string[] | undefined): Modes {
  return { subject, input: [...new Set(input)], output }
}

function requireInput(parts: readonly Part[], modes: Modes): void {
  const index = parts.findIndex((part) => !isAccepted(part, modes))
  const part = parts[index]
  if (!part) return
  const { subject, input } = modes
  const { mediaType: actual = '' } = part
  const accepted = input.join(', ')
  const problem = `message.parts[${index}]: ${subject} accepts ${accepted}, not ${actual}.`
  const advice = 'Send one of these types; the author of the agent declares further ones as inputModes.'
  throw new A2AError('content-type-not-supported', `${problem} ${advice}`, {
    violations: [{ field: `message.parts[${index}]`, description: `expected ${accepted}, got ${actual}` }],
    metadata: { part: `${index}`, mediaType: actual, accepted },
  })
}

/** Files of this machine are not those of the caller, and scripts run where the URL is shown as a link. */
const unsafeSchemes: readonly string[] = ['file', 'javascript', 'vbscript']

function isAllowed(scheme: string, schemes: readonly string[] | undefined): boolean {
  return schemes?.includes(scheme) ?? !unsafeSchemes.includes(scheme)
}

function isAbsolute(url: string, schemes: readonly string[] | undefined): boolean {
  const scheme = schemeOf(url)
  if (scheme === undefined || !isAllowed(scheme, schemes)) return false
  // A data URL can be long, and every text after the scheme is one.
  return scheme === 'data' || URL.canParse(url)
}

function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(url.slice(0, 64))?.[1]?.toLowerCase()
}

function isAccepted(part: Part, { input }: Modes): boolean {
  const { mediaType } = part
  // Only the agent can tell what a part without a type is.
  if (!mediaType) return true
  if (extensionTypes.has(mediaType) || isInRanges(mediaType, input)) return true
  // Data of a more specific type, such as the result of a tool, is JSON as well (RFC 6839 §3.1).
  return 'data' in part && /\+json\s*(;|$)/i.test(mediaType) && isInRanges('application/json', input)
}

function requireOutput(accepted: readonly string[], { subject, output }: Modes): void {
  if (!output || accepted.some((mode) => isInRanges(mode, output))) return
  const produced = output.join(', ')
  const problem = `configuration.acceptedOutputModes: ${subject} produces ${produced}, not ${accepted.join(', ')}.`
  const advice = 'Accept one of these types, or leave the member out to accept any.'
  throw new A2AError('content-type-not-supported', `${problem} ${advice}`, {
    violations: [{ field: 'configuration.acceptedOutputModes', description: `expected one of ${produced}` }],
    metadata: { accepted: accepted.join(', '), produced },
  })
}
