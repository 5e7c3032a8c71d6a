import { isList, isObject, type JsonObject } from '../../core/base/json.ts'
import { listOf } from '../answers.ts'
import type { Version } from '../interface.ts'
import type { Rule } from '../rule.ts'
import { expectThat, measureIf } from '../verdict.ts'

const all: readonly Version[] = ['1.0', '0.3', '0.2', '0.1']
const legacy: readonly Version[] = ['0.3', '0.2', '0.1']

const currentMembers = ['name', 'description', 'version', 'supportedInterfaces', 'capabilities']

const requiredMembers: Readonly<Record<Version, readonly string[]>> = {
  '1.1': currentMembers,
  '1.0': currentMembers,
  '0.3': ['name', 'description', 'version', 'url', 'protocolVersion', 'capabilities'],
  '0.2': ['name', 'description', 'version', 'url', 'capabilities'],
  '0.1': ['name', 'version', 'url', 'capabilities', 'skills'],
}

const rules: readonly Omit<Rule, 'bindings'>[] = [
  {
    id: 'card/content-type',
    level: 'SHOULD',
    versions: all,
    title: 'The card has a JSON content type.',
    sends: 'a GET of the card',
    expects: 'application/json or application/a2a+json',
    async check({ served }) {
      const type = served.headers.get('content-type') ?? ''
      expectThat(/^application\/([\w.-]+\+)?json\b/i.test(type), `The content type is ${type || 'missing'}.`)
    },
  },
  {
    id: 'card/well-known',
    level: 'SHOULD',
    versions: ['1.0', '0.3'],
    title: 'The card is at /.well-known/agent-card.json.',
    sends: 'a GET of the card',
    expects: 'the card at a URL that ends in /.well-known/agent-card.json',
    async check({ served }) {
      expectThat(new URL(served.url).pathname.endsWith('/.well-known/agent-card.json'), `It is at ${served.url}.`)
    },
  },
  {
    id: 'card/members',
    level: 'MUST',
    versions: all,
    title: 'The card has all required members.',
    sends: 'a GET of the card',
    expects: 'name, version, capabilities and the other required members',
    async check({ card, wire }) {
      for (const name of requiredMembers[wire.target.version]) {
        const value = card[name]
        expectThat(value !== undefined && value !== null && value !== '', `The card has no ${name}.`)
      }
    },
  },
  {
    id: 'card/modes',
    level: 'MUST',
    versions: ['1.0', '0.3', '0.2'],
    title: 'The card names the media types of input and output.',
    sends: 'a GET of the card',
    expects: 'defaultInputModes and defaultOutputModes with at least one type each',
    async check({ card }) {
      for (const name of ['defaultInputModes', 'defaultOutputModes']) {
        const modes = card[name]
        const isRight = isList(modes) && modes.length > 0 && modes.every((mode) => typeof mode === 'string')
        expectThat(isRight, `${name} is not a list of media types.`)
      }
    },
  },
  {
    id: 'card/skills',
    level: 'MUST',
    versions: all,
    title: 'Every skill has its required members.',
    sends: 'a GET of the card',
    expects: 'at least one skill, each with id, name, and since 0.2 description and tags',
    async check({ card, wire }) {
      const skills = listOf(card.skills)
      expectThat(skills.length > 0, 'The card has no skills.')
      const names = wire.target.version === '0.1' ? ['id', 'name'] : ['id', 'name', 'description']
      for (const skill of skills) {
        for (const name of names) expectThat(isText(skill[name]), `The skill ${skill.id} has no ${name}.`)
        const hasTags = wire.target.version === '0.1' || isList(skill.tags)
        expectThat(hasTags, `The skill ${skill.id} has no list of tags.`)
      }
    },
  },
  {
    id: 'card/skill-ids',
    level: 'MUST',
    versions: all,
    title: 'The ids of skills are unique.',
    sends: 'a GET of the card',
    expects: 'no id twice',
    async check({ card }) {
      const ids = listOf(card.skills).map(({ id }) => id)
      expectThat(new Set(ids).size === ids.length, `An id occurs twice: ${ids.join(', ')}.`)
    },
  },
  {
    id: 'card/interfaces',
    level: 'MUST',
    versions: ['1.0'],
    title: 'Every interface has a URL, a binding and a version.',
    sends: 'a GET of the card',
    expects: 'absolute URLs (gRPC: or a host and a port), protocolBinding, and protocolVersion as Major.Minor',
    async check({ card }) {
      const interfaces = listOf(card.supportedInterfaces)
      expectThat(interfaces.length > 0, 'The card has no interfaces.')
      for (const { url, protocolBinding, protocolVersion } of interfaces) {
        // An address of gRPC may be a host and a port.
        const isAddress = isText(url) && URL.canParse(protocolBinding === 'GRPC' ? `grpc://${url}` : url)
        expectThat(isAddress, `The URL ${JSON.stringify(url)} is not absolute.`)
        expectThat(isText(protocolBinding), `The interface ${url} has no protocolBinding.`)
        const isVersion = /^\d+\.\d+$/.test(`${protocolVersion}`)
        expectThat(isVersion, `The interface ${url} has the protocolVersion ${JSON.stringify(protocolVersion)}.`)
      }
    },
  },
  {
    id: 'card/url',
    level: 'MUST',
    versions: legacy,
    title: 'The URL of the card is absolute.',
    sends: 'a GET of the card',
    expects: 'an absolute url',
    async check({ card }) {
      expectThat(isText(card.url) && URL.canParse(card.url), `The url is ${JSON.stringify(card.url)}.`)
    },
  },
  {
    id: 'card/preferred-transport',
    level: 'MUST',
    versions: ['0.3'],
    title: 'The card names the transport of its URL.',
    sends: 'a GET of the card',
    expects: 'preferredTransport',
    check: async ({ card }) => expectThat(isText(card.preferredTransport), 'The card has no preferredTransport.'),
  },
  {
    id: 'card/transports',
    level: 'SHOULD',
    versions: ['0.3'],
    title: 'Transports have the names of the protocol.',
    sends: 'a GET of the card',
    expects: 'JSONRPC, HTTP+JSON or GRPC',
    async check({ card }) {
      for (const { transport } of legacyInterfaces(card)) {
        const isCore = ['JSONRPC', 'HTTP+JSON', 'GRPC'].includes(`${transport}`)
        expectThat(isCore, `A transport is called ${JSON.stringify(transport)}.`)
      }
    },
  },
  {
    id: 'card/main-interface',
    level: 'SHOULD',
    versions: ['0.3'],
    title: 'The additional interfaces include the main one.',
    sends: 'a GET of the card',
    expects: 'an additional interface with the url and the preferredTransport of the card',
    async check({ card }) {
      const others = listOf(card.additionalInterfaces)
      measureIf(others.length > 0, 'The card has no additional interfaces.')
      const isListed = others.some(({ url, transport }) => url === card.url && transport === card.preferredTransport)
      expectThat(isListed, 'The list does not include the main interface.')
    },
  },
  {
    id: 'card/capabilities',
    level: 'MUST',
    versions: all,
    title: 'Capabilities are true or false.',
    sends: 'a GET of the card',
    expects: 'booleans for streaming and pushNotifications, where they are present',
    async check({ card }) {
      expectThat(isObject(card.capabilities), 'The capabilities are not an object.')
      for (const name of ['streaming', 'pushNotifications', 'extendedAgentCard']) {
        const value = card.capabilities[name]
        expectThat(value === undefined || typeof value === 'boolean', `${name} is ${JSON.stringify(value)}.`)
      }
    },
  },
  {
    id: 'card/signatures',
    level: 'MUST',
    versions: ['1.0', '0.3'],
    title: 'Every signature names its algorithm and its key.',
    sends: 'a GET of the card',
    expects: 'a protected header with alg and kid, and a signature, in each of the signatures',
    async check({ card }) {
      const signatures = listOf(card.signatures)
      measureIf(signatures.length > 0, 'The card is not signed.')
      for (const { protected: header, signature } of signatures) {
        const { alg, kid } = decodeHeader(`${header}`)
        expectThat(isText(alg) && alg !== 'none' && isText(kid), 'A signature has no alg or no kid.')
        expectThat(isText(signature), 'A signature is empty.')
      }
    },
  },
  {
    id: 'card/cache-control',
    level: 'SHOULD',
    versions: ['1.0'],
    title: 'The card says how long it may be cached.',
    sends: 'a GET of the card',
    expects: 'the header Cache-Control with max-age',
    async check({ served }) {
      const value = served.headers.get('cache-control')
      expectThat(/max-age=\d+/i.test(value ?? ''), `Cache-Control is ${value ?? 'missing'}.`)
    },
  },
  {
    id: 'card/etag',
    level: 'SHOULD',
    versions: ['1.0'],
    title: 'The card has an ETag.',
    sends: 'a GET of the card',
    expects: 'the header ETag',
    check: async ({ served }) => expectThat(served.headers.has('etag'), 'The answer has no ETag.'),
  },
  {
    id: 'card/not-modified',
    level: 'MAY',
    versions: ['1.0'],
    title: 'A card that has not changed is not sent again.',
    sends: 'a GET of the card with If-None-Match',
    expects: 'HTTP 304',
    async check({ served, fetchCard }) {
      const etag = served.headers.get('etag')
      measureIf(etag !== null, 'The card has no ETag.')
      const { status } = await fetchCard({ 'if-none-match': etag })
      expectThat(status === 304, `Got HTTP ${status}.`)
    },
  },
]

/** Rules about agent cards. They run once per version. */
export const cardRules: readonly Rule[] = rules.map((rule) => ({ ...rule, bindings: ['CARD'] }))

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function legacyInterfaces(card: JsonObject): readonly JsonObject[] {
  return [{ transport: card.preferredTransport ?? 'JSONRPC' }, ...listOf(card.additionalInterfaces)]
}

function decodeHeader(text: string): JsonObject {
  try {
    const header: unknown = JSON.parse(atob(text.replaceAll('-', '+').replaceAll('_', '/')))
    return isObject(header) ? header : {}
  } catch {
    return {}
  }
}
