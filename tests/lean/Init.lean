prelude
import Init.Effects
