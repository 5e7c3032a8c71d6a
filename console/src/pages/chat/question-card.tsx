import { credentialsExtension, credentialsPart, type Json, type Part } from 'parley-a2a/client'
import { type QuestionAnswer, resultPart, textOfAnswer } from '../../components/answers/answer.ts'
import { AnswerForm } from '../../components/answers/answer-form.tsx'
import { ToolCall } from '../../components/answers/tool-result-form.tsx'
import { Parts } from '../../components/parts/parts.tsx'
import { isObject } from '../../components/schema-form/schema.ts'
import { AnsweredForm } from '../../components/schema-form/schema-form.tsx'
import { Badge } from '../../components/state-badge.tsx'
import { Countdown } from '../../components/time.tsx'
import type { Question } from './conversation.ts'
import type { Outgoing } from './conversations.ts'

interface QuestionCardProps {
  readonly question: Question
  readonly onAnswer: (outgoing: Outgoing, answer: QuestionAnswer) => void
}

const titles = { input: 'Question', approval: 'Approval', tool: 'Tool call', credentials: 'Credentials' } as const

/** What the agent needs from the person, with the fitting way to answer. */
export function QuestionCard({ question, onAnswer }: QuestionCardProps) {
  const { kind, parts, isOpen, request, auth } = question
  const call = kind === 'tool' ? request.arguments : kind === 'approval' ? request.toolArguments : undefined
  return (
    <article class={`entry question ${isOpen ? '' : 'question-closed'}`} aria-label={titles[kind]}>
      <header>
        <Badge tone={isOpen ? 'warning' : 'neutral'}>{titles[kind]}</Badge>
        {isOpen && request.expiresAt !== undefined && (
          <span class="small">
            <Countdown until={request.expiresAt} />
          </span>
        )}
        {!isOpen && <span class="muted small">answered</span>}
      </header>
      {call === undefined || kind === 'tool' ? (
        <Parts parts={kind === 'credentials' ? parts.filter((part) => !describesCredentials(part)) : parts} />
      ) : (
        <p>May the agent make this call?</p>
      )}
      {request.tool && call !== undefined && <ToolCall name={request.tool} arguments={call} />}
      {!isOpen && question.answer && <Answered question={question} answer={question.answer} />}
      {isOpen && (
        <AnswerForm
          question={{
            kind,
            schema: kind === 'tool' ? request.resultSchema : request.schema,
            tool: request.tool,
            isSensitive: request.sensitive,
            ...auth,
          }}
          onAnswer={(answer) => onAnswer(outgoingOf(question, answer), answer)}
        />
      )}
    </article>
  )
}

/** What the person answered, in the form in which it was asked. */
function Answered({ question, answer }: { readonly question: Question; readonly answer: QuestionAnswer }) {
  const { schema, resultSchema } = question.request
  if (answer.type === 'value' && schema) return <AnsweredForm schema={schema} value={answer.value} />
  if (answer.type === 'tool-result' && resultSchema) return <AnsweredForm schema={resultSchema} value={answer.result} />
  return <p class="breakable answered-text">{textOfAnswer(answer)}</p>
}

/** Whether a part says for programs which credentials are needed: the form says it for people. */
function describesCredentials(part: Part): boolean {
  return 'data' in part && isObject(part.data) && ('credentialsType' in part.data || 'schemes' in part.data)
}

/** The message that answers. Secrets stay out of the transcript. */
function outgoingOf({ request: { requestId, sensitive } }: Question, answer: QuestionAnswer): Outgoing {
  const text = textOfAnswer(answer)
  const shown: readonly Part[] = [{ text: sensitive ? 'Sensitive answer sent' : text }]
  const result = (value: Json, isError?: boolean): readonly Part[] =>
    requestId === undefined ? [{ text }] : [resultPart(requestId, value, isError)]
  switch (answer.type) {
    case 'text':
      return { parts: result(answer.text), shown }
    case 'value':
      return { parts: result(answer.value), shown }
    case 'tool-result':
      return { parts: result(answer.result), shown }
    case 'tool-failure':
      return { parts: result(answer.message, true), shown }
    case 'decision': {
      const word = answer.decision === 'approve' ? 'yes' : 'no'
      const comment: readonly Part[] = answer.comment === '' ? [] : [{ text: answer.comment }]
      const decision = requestId === undefined ? { text: word } : resultPart(requestId, word)
      return { parts: [decision, ...comment], shown }
    }
    case 'credentials': {
      const { scheme, secret } = answer
      return {
        parts: [credentialsPart({ ...(scheme !== undefined && { scheme }), credentials: secret })],
        shown,
        options: { extensions: [credentialsExtension] },
      }
    }
  }
}
