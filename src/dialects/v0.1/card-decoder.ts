import type { AgentCard, AgentProvider } from '../../protocol/card.ts'
import type { Draft } from '../draft.ts'
import { readResult } from '../read-params.ts'
import type { Shape, TypeOf } from '../shape.ts'
import type { Authentication, OpenCard } from './card-schemas.ts'
import { carrying } from './carry.ts'

/** By the text of 0.1; its schema has `text`, which is no media type. */
const defaultModes = ['text/plain']

type Card = Omit<TypeOf<typeof OpenCard>, 'authentication'> & { readonly authentication?: Told }
type Told = TypeOf<typeof Authentication>
type Secured = Pick<AgentCard, 'securitySchemes' | 'security'>

export function cardDecoder(shape: Shape<Card>, securedBy: (authentication: Told) => Secured) {
  return (result: unknown): AgentCard => {
    const { url, provider, capabilities, authentication, skills, ...card } = readResult(shape, result)
    const { stateTransitionHistory, ...others } = capabilities
    const { defaultInputModes, defaultOutputModes } = card
    const kept: Draft = {}
    if (stateTransitionHistory !== undefined) kept.stateTransitionHistory = stateTransitionHistory
    if (authentication !== undefined) kept.authentication = { ...authentication }
    if (defaultInputModes === undefined) kept.anyInput = true
    if (defaultOutputModes === undefined) kept.anyOutput = true
    return {
      description: '',
      ...card,
      interfaces: [{ url, binding: 'JSONRPC', protocolVersion: '0.1' }],
      capabilities: others,
      defaultInputModes: defaultInputModes ?? defaultModes,
      defaultOutputModes: defaultOutputModes ?? defaultModes,
      skills: skills.map((skill) => ({ description: '', tags: [], ...skill })),
      ...(provider !== undefined && { provider: { url: '', ...provider } satisfies AgentProvider }),
      ...(authentication !== undefined && securedBy(authentication)),
      ...carrying(kept),
    }
  }
}
