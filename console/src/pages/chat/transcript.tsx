import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { hasFeature } from '../../api/session.ts'
import { Parts, safeFileName } from '../../components/parts/parts.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { Notice } from '../../components/states.tsx'
import { formatClock, formatDuration, formatTime } from '../../components/time.tsx'
import { link } from '../../router/links.ts'
import type { ArtifactEntry, Conversation, Entry } from './conversation.ts'
import { answerQuestion, editMessage, send } from './conversations.ts'
import { ArtifactDownload, EntryTools } from './entry-tools.tsx'
import { QuestionCard } from './question-card.tsx'
import { WorkCard } from './work-card.tsx'

/** The messages, artifacts and questions of a conversation. It follows its end until the person scrolls up. */
export function Transcript({ conversation }: { readonly conversation: Conversation }) {
  const { id, agent, entries, activity, taskId } = conversation
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
        {activity !== 'idle' && <TaskLink agent={agent} taskId={taskId} />}
      </div>
    </div>
  )
}

/** The page of a task, from its first event on. */
function TaskLink({ agent, taskId }: { readonly agent: string; readonly taskId: string | undefined }) {
  if (!taskId || !hasFeature('history')) return null
  return (
    <a class="small" href={link('tasks', agent, taskId)}>
      Open task
    </a>
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
              <div class="entry-retry">
                <button type="button" class="button button-small" onClick={() => send(conversation, entry)}>
                  Send again
                </button>
                <button type="button" class="button button-small" onClick={() => editMessage(conversation, entry)}>
                  Edit
                </button>
              </div>
            )}
            <EntryTools at={entry.at} parts={entry.parts} />
          </article>
        )
      case 'message':
        return (
          <article class="entry entry-agent" aria-label="Agent">
            <Parts parts={entry.parts} />
            <EntryTools at={entry.at} parts={entry.parts} />
          </article>
        )
      case 'progress':
        return <Progress texts={entry.texts} />
      case 'work':
        return <WorkCard entry={entry} agent={agent} />
      case 'artifact':
        return <ArtifactView artifact={entry} at={entry.at} />
      case 'question':
        return (
          <QuestionCard
            question={entry}
            onAnswer={(outgoing, answer) => answerQuestion(conversation, entry, outgoing, answer)}
          />
        )
      case 'end':
        return (
          <div class="entry-end">
            <StateBadge state={entry.state} />
            {entry.at !== undefined && (
              <time dateTime={new Date(entry.at).toISOString()} title={formatTime(entry.at)}>
                {formatClock(entry.at).slice(0, 8)}
              </time>
            )}
            {entry.duration !== undefined && <span>took {formatDuration(entry.duration)}</span>}
            <TaskLink agent={agent} taskId={entry.taskId} />
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

interface ArtifactViewProps {
  readonly artifact: ArtifactEntry
  readonly at: number | undefined
}

function ArtifactView({ artifact, at }: ArtifactViewProps) {
  const { name, description, parts, isComplete } = artifact
  return (
    <article class="entry entry-artifact" aria-label={`Artifact ${safeFileName(name)}`}>
      <header>
        <bdi class="breakable">{name ? safeFileName(name) : 'Artifact'}</bdi>
        {!isComplete && <span class="muted small">writing…</span>}
        {isComplete && <ArtifactDownload name={name} parts={parts} />}
      </header>
      {description && <p class="muted small breakable">{description}</p>}
      <Parts parts={parts} />
      {isComplete && <EntryTools at={at} parts={parts} />}
    </article>
  )
}
