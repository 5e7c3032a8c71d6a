import { Dialog } from '../dialog.tsx'
import { hasKeys, setKeys } from './keyboard.ts'
import './palette.css'

const keys = [
  ['Ctrl K', 'Go to a page, an agent or a task'],
  ['/', 'Search on this page'],
  ['j', 'Next item of the list'],
  ['k', 'Previous item of the list'],
  ['Enter', 'Open the item'],
  ['?', 'Show these keys'],
  ['Esc', 'Close a dialog'],
] as const

/** The keys of the console, and whether single keys act. */
export function KeyHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="key-list">
        {keys.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <label class="choice">
        <input
          type="checkbox"
          checked={hasKeys.value}
          onChange={({ currentTarget }) => setKeys(currentTarget.checked)}
        />
        Single keys act
      </label>
    </Dialog>
  )
}
