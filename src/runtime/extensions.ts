import type { AgentExtension } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Call } from '../protocol/service.ts'

/** Those of the agent's extensions that the caller asks for. Others that it asks for are ignored (A2A 1.0 §3.2.6). */
export function activeExtensions(offered: readonly AgentExtension[], { extensions = [] }: Call): readonly string[] {
  return extensions.filter((uri) => offered.some((extension) => extension.uri === uri))
}

/** Throws unless the caller knows what it must know to talk to this agent, and notes what of it is at work. */
export function activateExtensions(offered: readonly AgentExtension[], call: Call): void {
  const { extensions = [], activated } = call
  const missing = offered.filter(({ required, uri }) => required && !extensions.includes(uri)).map(({ uri }) => uri)
  if (missing.length > 0) {
    const text = `This agent insists on extensions that the call does not declare: ${missing.join(', ')}. Name them in the header A2A-Extensions.`
    throw new A2AError('extension-required', text, { metadata: { requiredExtensions: missing.join(', ') } })
  }
  for (const uri of activeExtensions(offered, call)) activated?.add(uri)
}
