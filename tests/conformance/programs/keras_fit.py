"""Keras on JAX: two epochs of a small convolutional network, evaluation, prediction, and a saved and loaded model."""

import os
import tempfile

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from digest import digest

keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
images = rng.normal(size=(96, 12, 12, 1)).astype(np.float32)
labels = rng.integers(0, 4, size=96)

model = keras.Sequential([
    keras.Input((12, 12, 1)),
    keras.layers.Conv2D(8, 3, activation="relu"),
    keras.layers.BatchNormalization(),
    keras.layers.MaxPooling2D(),
    keras.layers.Flatten(),
    keras.layers.Dropout(0.2),
    keras.layers.Dense(4),
])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.AdamW(1e-3), loss=loss, metrics=["accuracy"])
history = model.fit(images, labels, batch_size=32, epochs=2, validation_split=0.25, verbose=0)
predicted = model.predict(images[:20], verbose=0)
with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/model.keras")
    loaded = keras.models.load_model(f"{folder}/model.keras").predict(images[:20], verbose=0)
print(digest([history.history, predicted, loaded, model.evaluate(images, labels, verbose=0)]))
