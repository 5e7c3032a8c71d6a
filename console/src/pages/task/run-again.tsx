import type { Part } from 'parley-a2a/client'
import type { TaskDetail } from 'parley-a2a/operator'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { operator } from '../../api/operator.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { messageOf, Notice } from '../../components/states.tsx'
import { link } from '../../router/links.ts'

/** Buttons that send the first message of a task again, as it was or edited, in a new task of the operator. */
export function RunAgain({ detail }: { readonly detail: TaskDetail }) {
  const { route } = useLocation()
  const [isEditing, setEditing] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const first = detail.task.history.find(({ role }) => role === 'user')
  if (!first) return null
  async function run(parts?: readonly Part[]) {
    setBusy(true)
    setProblem(undefined)
    try {
      const { agent, taskId } = await operator.rerun(detail, parts ? { parts } : {})
      setEditing(false)
      route(link('tasks', agent, taskId))
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }
  return (
    <>
      {problem && !isEditing && <Notice kind="error">{problem}</Notice>}
      <ActionButton isBusy={isBusy} onClick={() => run()}>
        Run again
      </ActionButton>
      <ActionButton onClick={() => setEditing(true)}>Edit and run again</ActionButton>
      {isEditing && (
        <EditDialog
          parts={first.parts}
          isShortened={detail.isShortened}
          isBusy={isBusy}
          problem={problem}
          onRun={run}
          onClose={() => setEditing(false)}
        />
      )}
    </>
  )
}

interface EditDialogProps {
  readonly parts: readonly Part[]
  readonly isShortened: boolean
  readonly isBusy: boolean
  readonly problem: string | undefined
  readonly onRun: (parts: readonly Part[]) => void
  readonly onClose: () => void
}

/** A text is edited as it is; a message with files or data as the JSON of its parts. */
function EditDialog({ parts, isShortened, isBusy, problem, onRun, onClose }: EditDialogProps) {
  const [only] = parts
  const isText = parts.length === 1 && only !== undefined && 'text' in only
  const [text, setText] = useState(isText ? only.text : JSON.stringify(parts, null, 2))
  const [mistake, setMistake] = useState<string>()
  function submit(event: Event) {
    event.preventDefault()
    if (isText) return onRun([{ ...only, text }])
    try {
      onRun(JSON.parse(text) as readonly Part[])
    } catch {
      setMistake('This is not JSON.')
    }
  }
  return (
    <Dialog title="Edit and run again" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <p class="muted small">
          The message begins a new task, which belongs to you and names this one as its origin. Credentials of the
          caller are not sent again.
        </p>
        {isShortened && <Notice kind="warning">This task is long: its first message may be shortened here.</Notice>}
        <label>
          {isText ? 'Message' : 'Parts of the message, as JSON'}
          <textarea
            class={`input run-again-text ${isText ? '' : 'mono'}`}
            value={text}
            rows={8}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        {(mistake ?? problem) && <Notice kind="error">{mistake ?? problem}</Notice>}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          <ActionButton type="submit" kind="primary" isBusy={isBusy}>
            Run
          </ActionButton>
        </div>
      </form>
    </Dialog>
  )
}
