import type { AgentCard, SecurityScheme } from '../../entries/client.ts'
import type { Output } from '../output.ts'

export interface CardOptions {
  readonly output: Output
  /** Whether a trusted key has signed the card. */
  readonly signature: string
  /** Set if the card was checked against its schema. */
  readonly isValid: boolean | undefined
}

/** Prints a card as text: identity, capabilities, interfaces, security and skills. */
export function printCard(card: AgentCard, { output, signature, isValid }: CardOptions): void {
  const { capabilities, interfaces, skills, provider, securitySchemes = {}, security = [] } = card
  const { field } = output
  field('Name', card.name)
  if (card.description) field('Description', card.description)
  field('Version', card.version || '(none)')
  if (provider) field('Provider', `${provider.organization} ${provider.url}`)
  if (card.documentationUrl) field('Documentation', card.documentationUrl)
  for (const { binding, url, protocolVersion, tenant } of interfaces) {
    field('Interface', `${binding} ${protocolVersion} ${url}${tenant ? ` tenant=${tenant}` : ''}`)
  }
  field('Streaming', yesNo(capabilities.streaming))
  field('Push notifications', yesNo(capabilities.pushNotifications))
  field('Extended card', yesNo(capabilities.extendedCard))
  for (const { uri, required } of capabilities.extensions ?? [])
    field('Extension', `${uri}${required ? ' (required)' : ''}`)
  for (const [name, scheme] of Object.entries(securitySchemes))
    field('Security scheme', `${name}: ${describeScheme(scheme)}`)
  for (const requirement of security) {
    const parts = Object.entries(requirement).map(
      ([name, scopes]) => `${name}${scopes.length > 0 ? ` (${scopes.join(' ')})` : ''}`,
    )
    field('Requires', parts.join(' and ') || 'nothing')
  }
  if (Object.keys(securitySchemes).length === 0) field('Security scheme', 'none')
  field('Input', card.defaultInputModes.join(', ') || '(not declared)')
  field('Output', card.defaultOutputModes.join(', ') || '(not declared)')
  for (const { id, name, description, tags, examples = [] } of skills) {
    field('Skill', `${id}: ${name}${tags.length > 0 ? ` [${tags.join(', ')}]` : ''}`)
    if (description) field('Skill description', description)
    for (const example of examples) field('Skill example', example)
  }
  field('Signature', signature)
  if (isValid !== undefined) field('Schema', isValid ? 'valid' : 'broken')
}

export function describeScheme(scheme: SecurityScheme): string {
  switch (scheme.type) {
    case 'http':
      return `HTTP ${scheme.scheme}`
    case 'api-key':
      return `API key in the ${scheme.location} ${scheme.name}`
    case 'oauth2':
      return `OAuth 2 ${scheme.flow.type}${'tokenUrl' in scheme.flow ? `, tokens from ${scheme.flow.tokenUrl}` : ''}`
    case 'openid':
      return `OpenID Connect ${scheme.url}`
    case 'mutual-tls':
      return 'mutual TLS'
  }
}

function yesNo(value: boolean | undefined): string {
  return value === true ? 'yes' : 'no'
}
