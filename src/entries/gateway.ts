/** A gateway: agents of any A2A version behind one address, with task logs, rules and cards of its own. */

export type { AddressState } from '../gateway/addresses.ts'
export { ConfigError, type ConfigSources, type GatewayConfig, readGatewayConfig } from '../gateway/config.ts'
export { gatewaySchema } from '../gateway/config-schema.ts'
export type { ContentContext, ContentRules, RedactedPattern } from '../gateway/content.ts'
export { createGateway, explainRule, type Gateway, type GatewayAgent } from '../gateway/gateway.ts'
export type { Loss } from '../gateway/losses.ts'
export type {
  FromFilter,
  FromOptions,
  GatewayOptions,
  ListedOptions,
  McpUpstreamOptions,
  UpstreamOptions,
} from '../gateway/options.ts'
export type { Decision, Rule, RuledCall } from '../gateway/rules.ts'
export type { TrafficFigures } from '../gateway/traffic.ts'
