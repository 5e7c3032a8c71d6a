import type { Part } from 'parley-a2a/client'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { hasFeature } from '../../api/session.ts'
import { Parts, safeFileName } from '../../components/parts/parts.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { Notice } from '../../components/states.tsx'
import { link } from '../../router/links.ts'
import type { ArtifactEntry, Conversation, Entry } from './conversation.ts'
import { send } from './conversations.ts'
import { QuestionCard } from './question-card.tsx'

/** The messages, artifacts and questions of a conversation. It follows its end until the person scrolls up. */
export function Transcript({ conversation }: { readonly conversation: Conversation }) {
  const { id, agent, entries, activity } = conversation
  const scroller = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const lastTop = useRef(0)
  const last = entries.at(-1)
  useLayoutEffect(() => {
    if (last?.type === 'user') isAtEnd.current = true
  }, [last])
  // Images and blocks that come into sight get their height later than their place.
  useLayoutEffect(() => {
    const element = scroller.current
    const content = element?.firstElementChild
    if (!element || !content) return
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) element.scrollTop = element.scrollHeight
    })
    observer.observe(content)
    observer.observe(element)
    return () => observer.disconnect()
  }, [id])
  return (
    <div
      ref={scroller}
      class="transcript"
      role="log"
      aria-label="Conversation"
      aria-busy={activity === 'streaming' || activity === 'sending'}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        // Growing content also causes scroll events, but only a person scrolls up.
        if (scrollHeight - scrollTop - clientHeight < 60) isAtEnd.current = true
        else if (scrollTop < lastTop.current) isAtEnd.current = false
        lastTop.current = scrollTop
      }}
    >
      <div class="transcript-entries">
        {entries.map((entry) => (
          <EntryView key={`${entry.type} ${entry.id}`} entry={entry} agent={agent} conversation={id} />
        ))}
        {(activity === 'sending' || activity === 'streaming') && (
          <div class="working" role="status">
            <span class="spinner" aria-hidden="true" />
            {activity === 'sending' ? 'Sending…' : 'The agent is working…'}
          </div>
        )}
      </div>
    </div>
  )
}

interface EntryViewProps {
  readonly entry: Entry
  readonly agent: string
  readonly conversation: string
}

/** An unchanged entry keeps its element, so that only the growing one is compared. */
function EntryView({ entry, agent, conversation }: EntryViewProps) {
  return useMemo(() => {
    switch (entry.type) {
      case 'user':
        return (
          <article class="entry entry-user" aria-label="You">
            <Parts parts={entry.parts} isPlain />
            {entry.problem && <Notice kind="error">{entry.problem}</Notice>}
            {entry.problem && entry.canRepeat && (
              <button type="button" class="button button-small" onClick={() => send(conversation, entry)}>
                Send again
              </button>
            )}
          </article>
        )
      case 'message':
        return (
          <article class="entry entry-agent" aria-label="Agent">
            <Parts parts={entry.parts} />
          </article>
        )
      case 'progress':
        return <Progress texts={entry.texts} />
      case 'artifact':
        return <ArtifactView artifact={entry} />
      case 'question':
        return <QuestionCard question={entry} onAnswer={(answer) => send(conversation, answer)} />
      case 'end':
        return (
          <div class="entry-end">
            <StateBadge state={entry.state} />
            {hasFeature('history') && entry.taskId && (
              <a class="small" href={link('tasks', agent, entry.taskId)}>
                Open task
              </a>
            )}
          </div>
        )
    }
  }, [entry, agent, conversation])
}

function Progress({ texts }: { readonly texts: readonly string[] }) {
  const last = texts.at(-1) ?? ''
  if (texts.length === 1) return <p class="progress breakable">{last}</p>
  return (
    <details class="progress">
      <summary class="breakable">
        {last} <span class="muted">({texts.length} updates)</span>
      </summary>
      <ol>
        {texts.map((text, index) => (
          <li key={index} class="breakable">
            {text}
          </li>
        ))}
      </ol>
    </details>
  )
}

function ArtifactView({ artifact }: { readonly artifact: ArtifactEntry }) {
  const { name, description, parts, isComplete } = artifact
  return (
    <article class="entry entry-artifact" aria-label={`Artifact ${safeFileName(name)}`}>
      <header>
        <bdi class="breakable">{name ? safeFileName(name) : 'Artifact'}</bdi>
        {!isComplete && <span class="muted small">writing…</span>}
        {isComplete && <TextDownload name={name} parts={parts} />}
      </header>
      {description && <p class="muted small breakable">{description}</p>}
      <Parts parts={parts} />
    </article>
  )
}

/** Text artifacts are often files. */
function TextDownload({ name, parts }: { readonly name: string | undefined; readonly parts: readonly Part[] }) {
  const [only] = parts
  if (!only || parts.length > 1 || !('text' in only)) return null
  function download() {
    const address = URL.createObjectURL(new Blob([only && 'text' in only ? only.text : ''], { type: 'text/plain' }))
    const anchor = Object.assign(document.createElement('a'), { href: address, download: safeFileName(name) })
    anchor.click()
    setTimeout(() => URL.revokeObjectURL(address), 10_000)
  }
  return (
    <button type="button" class="button button-plain button-small" onClick={download}>
      Download
    </button>
  )
}
