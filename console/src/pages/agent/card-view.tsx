import type { Json, JsonObject } from 'parley-a2a/client'
import type { AgentCards, AgentSummary } from 'parley-a2a/operator'
import type { ComponentChildren } from 'preact'
import { makeVisible } from '../../components/code-block.tsx'
import { Markdown } from '../../components/markdown/markdown.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { Notice } from '../../components/states.tsx'

interface CardViewProps {
  readonly agent: AgentSummary
  readonly cards: AgentCards
}

/** The card in words. Every member is read with care: a card of a foreign agent can contain anything. */
export function CardView({ agent, cards }: CardViewProps) {
  const card = cards.cards[0]?.card ?? {}
  const provider = objectOf(card.provider)
  const capabilities = objectOf(card.capabilities)
  const { violations = [] } = cards
  return (
    <div class="card-sections">
      {violations.length > 0 && <Violations violations={violations} />}
      <Section title="About">
        <Markdown text={textOf(card.description) || 'No description.'} />
        <dl class="facts">
          <Fact name="Version">{textOf(card.version)}</Fact>
          <Fact name="Provider">{textOf(provider.organization)}</Fact>
          <Fact name="Provider's address">{addressOf(provider.url)}</Fact>
          <Fact name="Documentation">{addressOf(card.documentationUrl)}</Fact>
          <Fact name="Signature">
            <Signature {...cards.signature} />
          </Fact>
        </dl>
      </Section>
      <Section title="Capabilities">
        <ul class="plain badges">
          <Capability name="Streaming" isOn={capabilities.streaming === true} />
          <Capability name="Push notifications" isOn={capabilities.pushNotifications === true} />
          <Capability
            name="Extended card"
            isOn={(capabilities.extendedAgentCard ?? card.supportsAuthenticatedExtendedCard) === true}
          />
        </ul>
        <dl class="facts">
          <Fact name="Accepts">{textsOf(card.defaultInputModes).join(', ')}</Fact>
          <Fact name="Produces">{textsOf(card.defaultOutputModes).join(', ')}</Fact>
        </dl>
        <Extensions extensions={listOf(capabilities.extensions)} />
      </Section>
      <Section title="Skills">
        <Skills skills={listOf(card.skills)} />
      </Section>
      <Section title="Interfaces">
        <Interfaces interfaces={agent.foreign?.interfaces ?? listOf(card.supportedInterfaces).map(interfaceOf)} />
      </Section>
      <Section title="Security">
        <Security schemes={objectOf(card.securitySchemes)} />
      </Section>
      <Section title="Limits">
        {agent.foreign ? (
          <p class="muted">Unknown: a card does not say which limits the server of its agent has.</p>
        ) : agent.limits.length === 0 ? (
          <p class="muted">No limits are set.</p>
        ) : (
          <dl class="facts">
            {agent.limits.map(({ name, value }) => (
              <Fact key={name} name={name}>
                {value}
              </Fact>
            ))}
          </dl>
        )}
      </Section>
    </div>
  )
}

/** What clients that validate cards reject. */
function Violations({ violations }: { readonly violations: readonly string[] }) {
  return (
    <Notice kind="warning">
      <p>
        The card breaks the schema of its version in{' '}
        {violations.length === 1 ? 'one place' : `${violations.length} places`}. Clients that validate cards reject it.
      </p>
      <ul>
        {violations.slice(0, 200).map((violation, index) => (
          <li key={index} class="breakable">
            <code>{makeVisible(violation)}</code>
          </li>
        ))}
      </ul>
    </Notice>
  )
}

function Section({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      {children}
    </section>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children?: ComponentChildren }) {
  if (!children) return null
  return (
    <div>
      <dt>{name}</dt>
      <dd class="breakable">
        <bdi>{children}</bdi>
      </dd>
    </div>
  )
}

const verdicts = {
  verified: { tone: 'ok', label: 'Verified' },
  unsigned: { tone: 'neutral', label: 'Not signed' },
  invalid: { tone: 'bad', label: 'Invalid' },
  'unknown-key': { tone: 'warning', label: 'Signed by an unknown key' },
} as const

function Signature({ state, reason }: AgentCards['signature']) {
  const { tone, label } = verdicts[state]
  return (
    <>
      <Badge tone={tone}>{label}</Badge> {reason && <span class="muted">{reason}</span>}
    </>
  )
}

function Capability({ name, isOn }: { readonly name: string; readonly isOn: boolean }) {
  return (
    <li>
      <Badge tone={isOn ? 'ok' : 'neutral'}>{`${name}: ${isOn ? 'yes' : 'no'}`}</Badge>
    </li>
  )
}

function Extensions({ extensions }: { readonly extensions: readonly JsonObject[] }) {
  if (extensions.length === 0) return null
  return (
    <>
      <h3>Extensions</h3>
      <ul class="plain rows">
        {extensions.map((extension, index) => (
          <li key={index}>
            <code class="breakable">{textOf(extension.uri)}</code>{' '}
            {extension.required === true && <Badge tone="warning">required</Badge>}
            <div class="muted small breakable">{textOf(extension.description)}</div>
          </li>
        ))}
      </ul>
    </>
  )
}

function Skills({ skills }: { readonly skills: readonly JsonObject[] }) {
  if (skills.length === 0) return <p class="muted">The card names no skills.</p>
  return (
    <ul class="plain rows">
      {skills.map((skill, index) => (
        <li key={index}>
          <h3>
            <bdi class="breakable">{textOf(skill.name) || textOf(skill.id)}</bdi>{' '}
            <code class="muted breakable">{textOf(skill.id)}</code>
          </h3>
          <p class="breakable">{textOf(skill.description)}</p>
          <ul class="plain badges">
            {textsOf(skill.tags).map((tag, position) => (
              <li key={position}>
                <Badge tone="neutral">{tag}</Badge>
              </li>
            ))}
          </ul>
          {textsOf(skill.examples).map((example, position) => (
            <blockquote key={position} class="example breakable">
              {example}
            </blockquote>
          ))}
        </li>
      ))}
    </ul>
  )
}

interface Interface {
  readonly binding: string
  readonly version: string
  readonly url: string
}

function interfaceOf({ protocolBinding, protocolVersion, url }: JsonObject): Interface {
  return { binding: textOf(protocolBinding), version: textOf(protocolVersion), url: textOf(url) }
}

function Interfaces({ interfaces }: { readonly interfaces: readonly Interface[] }) {
  if (interfaces.length === 0) return <p class="muted">The card names no interfaces.</p>
  return (
    <div class="table-scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Binding</th>
            <th scope="col">Version</th>
            <th scope="col">Address</th>
          </tr>
        </thead>
        <tbody>
          {interfaces.slice(0, 500).map(({ binding, version, url }, index) => (
            <tr key={index}>
              <td>{binding}</td>
              <td>{version || <span class="muted">not named</span>}</td>
              <td>
                <code class="breakable">{makeVisible(url.slice(0, 20_000))}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Security({ schemes }: { readonly schemes: JsonObject }) {
  const entries = Object.entries(schemes).slice(0, 50)
  if (entries.length === 0) return <p class="muted">The card names no security scheme: callers need no credentials.</p>
  return (
    <ul class="plain rows">
      {entries.map(([name, scheme]) => {
        // ProtoJSON names the type as the only member. Before 1.0, it is a member itself.
        const [member = '', details] = Object.entries(objectOf(scheme))[0] ?? []
        const type = textOf(objectOf(scheme).type) || member
        const description = textOf(objectOf(details).description) || textOf(objectOf(scheme).description)
        return (
          <li key={name}>
            <strong class="breakable">{name}</strong> <code>{type.replace(/SecurityScheme$/, '')}</code>
            {description && <div class="muted small breakable">{description}</div>}
          </li>
        )
      })}
    </ul>
  )
}

function addressOf(value: Json | undefined): ComponentChildren {
  const text = textOf(value)
  if (!/^https?:\/\//i.test(text)) return text
  return (
    <a href={text} target="_blank" rel="noopener noreferrer nofollow">
      {makeVisible(text)}
    </a>
  )
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value.slice(0, 20_000) : ''
}

function textsOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string').slice(0, 100) : []
}

function objectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

function listOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.slice(0, 500).map((item: Json) => objectOf(item)) : []
}
